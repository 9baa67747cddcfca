"""``python -m driftsieve``: the command line."""

import sys

from driftsieve.cli import main

if __name__ == "__main__":
    sys.exit(main())
