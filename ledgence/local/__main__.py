"""``python -m ledgence.local`` is the command ``ledgence-local``."""

from ledgence.local._cli import main

if __name__ == "__main__":
    main()
