"""Lets these tests import the builders they share with other rooms."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
