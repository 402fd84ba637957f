"""``python -m pinotadmin_client`` is ``pinotadmin``."""

import sys

from pinotadmin_client.commands.main import run

if __name__ == "__main__":
    sys.exit(run())
