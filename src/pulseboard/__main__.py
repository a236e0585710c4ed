"""`python -m pulseboard` is the `pulseboard` command."""

import sys

from pulseboard.cli import main

sys.exit(main())
