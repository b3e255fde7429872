"""What the commands of ``ledgence-local`` do.

A command opens a ``Session`` on a store file, asks or records through the engine, and
prints. Only a command that has something to run starts a host.
"""
