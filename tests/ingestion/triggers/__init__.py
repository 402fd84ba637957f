"""What one trigger reads of a folder: limits of a run, files whose content did not change."""
