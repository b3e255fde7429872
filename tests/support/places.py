"""Where things are: the tests with what lies beside them, and the package under test.

They are one checkout, or the package is installed elsewhere, as when a wheel is tested.
"""

from pathlib import Path

import ledgence.worker
from ledgence.local._launch import default_bootstrap

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(ledgence.worker.__file__).resolve().parents[1]
# As on a worker: nothing but the helper is beside it.
BOOTSTRAP = Path(default_bootstrap())
