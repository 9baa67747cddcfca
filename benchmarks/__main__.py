"""Measures every goal of the table: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks import (
    command,
    csr,
    dense,
    growth,
    ladder,
    machine,
    often,
    records,
    rows,
    table,
    text,
)
from benchmarks.harness import Row, run

GROUPS = {
    "dense": dense,
    "often": often,
    "csr": csr,
    "rows": rows,
    "text": text,
    "records": records,
    "command": command,
    "growth": growth,
    "ladder": ladder,
}


def main() -> None:
    options = parse()
    about = machine.describe()
    clock = "processor time; with threads, wall" if options.cpu_time else "wall time"
    found: list[Row] = []
    spent: dict[str, str] = {}
    for name in options.only:
        begin = time.perf_counter(), sum(os.times()[:4])
        for work in GROUPS[name].works(options.quick):
            print(f"measuring {work.name}", file=sys.stderr, flush=True)
            found += run(work, options.rounds, options.cpu_time)
        wall, cpu = time.perf_counter() - begin[0], sum(os.times()[:4]) - begin[1]
        spent[name] = f"{wall:.0f} s, {cpu:.0f} s of processor time"
    print(*(f"{key}: {value}" for key, value in about.items()), f"clock: {clock}", sep="\n")
    print(f"\n{table.as_text(found)}\n\n{table.summary(found)}\n\nThe groups took:")
    print(*(f"  {name}: {seconds}" for name, seconds in spent.items()), sep="\n")
    if options.quick:
        print("These data are tiny: the figures show that everything runs, and nothing else.")
    settings = {"clock": clock, "rounds": options.rounds, "quick": options.quick, "took": spent}
    table.write_json(options.json, found, machine=about, **settings)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="medians are over this many")
    parser.add_argument("--quick", action="store_true", help="tiny data: shows that all of it runs")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="processor time instead of wall time, for a busy machine (not for threads)",
    )
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), help="groups")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
