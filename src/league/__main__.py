"""`python -m league` is the command `league`."""

import sys

from league.cli.main import main

sys.exit(main())
