from tests.support.twins import native, profile

__all__ = ["native", "profile"]
