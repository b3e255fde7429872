"""How long `ledgence-local` takes to start: `python -m bench.command [ROUNDS]`.

Wall time is what a person waits for; the time of the processor is what stays the same
on a busy machine. A bare interpreter and the import of click are the floor.
"""

import os
import resource
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import click": ["-c", "import click"],
    "--version": ["-m", "ledgence.local", "--version"],
    "--help": ["-m", "ledgence.local", "--help"],
    "workflow start --help": ["-m", "ledgence.local", "workflow", "start", "--help"],
    "task list (no store)": ["-m", "ledgence.local", "task", "list", "--store", "none"],
}
_ROUNDS = 20


def processor():
    """Seconds of the processor that all children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(arguments, environment):
    """Start a command once; return wall and processor time."""
    cpu, began = processor(), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        check=False,
        env=environment,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began, processor() - cpu


def main():
    """Print a line for each command."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else _ROUNDS
    # Bytecode is kept, as it is where the package is installed.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    print(f"Python {sys.version.split()[0]}, {rounds} starts each, milliseconds")
    print(f"{'':24}{'wall, median':>14}{'fastest':>10}{'processor':>12}")
    for name, arguments in COMMANDS.items():
        measure(arguments, environment)  # writes the bytecode
        walls, cpus = zip(
            *(measure(arguments, environment) for _ in range(rounds)), strict=True
        )
        figures = (statistics.median(walls), min(walls), statistics.median(cpus))
        print(
            "{:24}{:14.0f}{:10.0f}{:12.0f}".format(name, *(1000 * f for f in figures))
        )


if __name__ == "__main__":
    main()
