from tests.support.twins import native as native
from tests.support.twins import profile as profile
