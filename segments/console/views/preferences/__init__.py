"""What people choose for their own pages; each form leads back to the page that it is on."""
