"""Build arrangement of the optional compiled twin; everything else is in pyproject.toml.

``LEDGENCE_BUILD_NATIVE`` governs the build of ``ledgence.worker._profile_c``:

* ``auto`` (default): try; without a compiler the result is an honest pure wheel;
* ``1``: fail when it cannot be built (implied by ``CIBUILDWHEEL``);
* ``0``: do not try.
"""

from setuptools import setup

setup()
