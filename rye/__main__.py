"""``python -m rye`` is the ``rye`` command."""

import sys

from rye.cli import main

if __name__ == "__main__":
    sys.exit(main())
