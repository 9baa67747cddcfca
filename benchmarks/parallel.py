"""How the work of sparse updates is shared by two threads, in instructions counted by callgrind.

Processor time depends on what else a machine is doing, and on which thread it lets run; the number
of instructions hardly does. What one thread does alone is what it does more than the other.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from pathlib import Path

from benchmarks.instructions import run

LOOPS = {"sparse": "flags", "real": "real values", "moments": "moments alone"}
# Entered by the calling thread, and by every other one.
COLLECTED = ("--toggle-collect=hot_{}", "--toggle-collect=*_M_run*")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parallel", description=__doc__)
    parser.add_argument("program", type=Path, help="the compiled benchmarks/hot_loops.cpp")
    program = parser.parse_args().program
    if shutil.which("valgrind") is None:
        raise SystemExit("Counting instructions needs valgrind: install it (apt install valgrind).")
    print("| rows | one thread | two threads | together | alone |")
    print("|---|---|---|---|---|")
    for loop, name in LOOPS.items():
        print(row(name, sum(count(program, loop, 1)), *count(program, loop, 2)))


def row(name: str, one: int, first: int, second: int) -> str:
    """A line of the table, in millions of instructions.

    >>> row("flags", 100_000_000, 52_000_000, 50_000_000)
    '| flags | 100.0 M | 52.0 M + 50.0 M | 1.02 × | 2.0 % |'
    """
    together = first + second
    alone = abs(first - second) / together
    return (
        f"| {name} | {one / 1e6:.1f} M | {first / 1e6:.1f} M + {second / 1e6:.1f} M "
        f"| {together / one:.2f} × | {alone:.1%} |".replace("%", " %")
    )


def count(program: Path, loop: str, n_threads: int) -> list[int]:
    """Instructions of each thread in an update."""
    with tempfile.TemporaryDirectory() as folder:
        run(
            *("valgrind", "--tool=callgrind", "--separate-threads=yes", "--fair-sched=yes"),
            *(option.format(loop) for option in COLLECTED),
            *(f"--callgrind-out-file={folder}/out", program, loop, str(n_threads)),
        )
        found = [
            re.findall(r"^(?:summary|totals): (\d+)", part.read_text(encoding="utf-8"), re.M)
            for part in sorted(Path(folder).glob("out-*"))
        ]
    counts = [int(numbers[-1]) for numbers in found if numbers]
    if len(counts) != n_threads:
        raise SystemExit(f"callgrind counted {len(counts)} threads in hot_{loop}, not {n_threads}.")
    return counts


if __name__ == "__main__":
    main()
