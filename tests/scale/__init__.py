"""An installation on two addresses and on parts of one's own, behind nginx; each part dies under load."""
