"""The example is a package of its own; tests import it as its users do, from `docs/examples`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))
