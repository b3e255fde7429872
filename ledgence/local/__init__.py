"""Ledgence on one machine: run, test and inspect programs without a service.

The command ``ledgence-local`` (also ``python -m ledgence.local``) is the way in.
The rooms below are private; from the ground up they are: text and limits, the
pure checks of what a runner sends (``_frames``, ``_logs``, ``_observations``), the
state machine of one conversation (``_conversation``), one supervised process
(``_process``), and at the rim the command line (``_cli``).
"""

__all__: list[str] = []
