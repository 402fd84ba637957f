"""File ingestion as its pages show it: sessions in plain words, progress, bars."""
