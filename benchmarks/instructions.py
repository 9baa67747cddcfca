"""Instructions of the hot loops, counted by callgrind and compared with the recorded counts.

A count does not depend on other work of the machine, so any slow-down shows. It does depend on the
compiler: the record names the one it was made with.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

RECORD = Path(__file__).with_name("instructions.json")
LOOPS = ("strip", "count", "walk", "bins", "sparse", "real", "moments", "svmlight")
MOST = 0.05  # largest growth of a count
SIMD = "avx2"  # the widest that valgrind supports


def main() -> None:
    options = parse()
    if shutil.which("valgrind") is None:
        raise SystemExit("Counting instructions needs valgrind: install it (apt install valgrind).")
    compiler = run(options.program, "compiler").strip()
    found = {loop: count(options.program, loop) for loop in LOOPS}
    if options.record:
        record = {"compiler": compiler, "simd": SIMD, "instructions": found}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"Recorded in {RECORD.name}.")
        return
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    lines, slower = compare(recorded["instructions"], found)
    print("\n".join(lines))
    if recorded["compiler"] != compiler:
        print(f"The record was made with {recorded['compiler']}, this is {compiler}.")
    if slower:
        raise SystemExit(
            f"More than {MOST:.0%} slower: {', '.join(slower)}. If that is meant, record it with "
            "make bench-instructions ARGS=--record."
        )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("program", type=Path, help="the compiled benchmarks/hot_loops.cpp")
    parser.add_argument("--record", action="store_true", help="make these counts the record")
    return parser.parse_args()


def run(*command: str | Path) -> str:
    """Both outputs of a command; if it fails, its own message."""
    done = subprocess.run(
        list(map(str, command)),
        env={**os.environ, "DRIFTSIEVE_SIMD": SIMD},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout)
    return done.stdout


def count(program: Path, loop: str) -> int:
    callgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    said = run(*callgrind, f"--toggle-collect=hot_{loop}", program, loop)
    collected = re.search(r"Collected : (\d+)", said)
    if collected is None or collected[1] == "0":
        raise SystemExit(f"callgrind counted nothing in hot_{loop}:\n{said}")
    return int(collected[1])


def compare(recorded: dict[str, int], found: dict[str, int]) -> tuple[list[str], list[str]]:
    """A table, and the loops that need too many more instructions than recorded.

    >>> lines, slower = compare({"a": 100, "b": 100}, {"a": 106, "b": 90})
    >>> slower
    ['a']
    """
    lines = [f"{'loop':<12}{'recorded':>14}{'now':>14}{'change':>9}"]
    slower = []
    for loop, now in found.items():
        before = recorded[loop]
        change = now / before - 1
        lines.append(f"{loop:<12}{before:>14}{now:>14}{change:>+9.1%}")
        if change > MOST:
            slower.append(loop)
    return lines, slower


if __name__ == "__main__":
    main()
