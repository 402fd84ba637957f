"""pinotadmin in Airflow: see README.md."""
