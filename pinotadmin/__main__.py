"""``python -m pinotadmin`` is ``pinotadmin``."""

import sys

from pinotadmin.command_line import run

if __name__ == "__main__":
    sys.exit(run(sys.argv))
