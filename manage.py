#!/usr/bin/env python
"""The command line of a checkout: ``pinotadmin`` without being installed."""

import sys

from pinotadmin.command_line import run

if __name__ == "__main__":
    sys.exit(run(sys.argv))
