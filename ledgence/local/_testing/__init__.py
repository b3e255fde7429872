"""What the pytest plugin needs once a test asks for a host."""

from ledgence.local._testing._host import TestHost
from ledgence.local._testing._repeat import NotRepeatable
from ledgence.local._testing._settings import Settings, settings_of

__all__ = ["NotRepeatable", "Settings", "TestHost", "settings_of"]
