"""The example for Airflow, with the real package."""
