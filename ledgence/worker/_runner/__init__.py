"""The process side of the runner protocol; private to the bootstrap."""
