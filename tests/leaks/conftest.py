from tests.support.twins import native

__all__ = ["native"]
