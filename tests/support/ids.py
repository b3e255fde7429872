"""Names of test cases that are the same in every process."""

import re

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def stable(value):
    """What repr says, without the address: parallel runs compare the names."""
    return _ADDRESS.sub("", repr(value))
