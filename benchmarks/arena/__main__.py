"""All selectors on all streams: ``python -m benchmarks.arena``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.arena import page
from benchmarks.arena.competitors import DEFAULT, PEERS, competitors
from benchmarks.arena.evaluation import evaluate
from benchmarks.arena.streams import STREAMS, Stream, load
from driftsieve.reproduce.datasets import MissingDataError

QUICK = ("usenet1", "weather", "swap100")
QUICK_ROWS = 1200


def main() -> None:
    options = parse()
    found: dict[str, Any] = {
        "machine": machine.describe(),
        "quick": options.quick,
        "streams": [],
        "missing": {},
    }
    for name, k in STREAMS:
        if name not in options.only:
            continue
        try:
            stream = load(name, k, options.data)
        except MissingDataError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            found["missing"][f"{name}, {k}"] = str(error)
            continue
        print(f"measuring {name}, k = {k}", file=sys.stderr, flush=True)
        found["streams"].append(
            measured(stream.head(QUICK_ROWS) if options.quick else stream, options)
        )
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if not found["streams"]:
        raise SystemExit("There is no stream to measure on: pass --data, or swap100 as --only.")
    print(page.overview(found["streams"]))
    if options.quick:
        print("These streams are cut short: the figures show that everything runs, no more.")


def measured(stream: Stream, options: argparse.Namespace) -> dict[str, Any]:
    """Results of all competitors on a stream."""
    n_rows, n_features = stream.X.shape
    n_seeds = options.seeds or (1 if options.quick else 20 if n_rows < 2000 else 4)
    start = time.process_time()
    results = evaluate(stream, competitors(n_rows * n_features), n_seeds)
    whole = evaluate(stream, PEERS, n_seeds, whole=True)
    return {
        "name": stream.name,
        "k": stream.k,
        "rows": n_rows,
        "features": n_features,
        "seeds": n_seeds,
        "results": results,
        "scaled by all rows": {name: result["sgd"] for name, result in whole.items()},
        "seconds": time.process_time() - start,
    }


def parse() -> argparse.Namespace:
    names = list(dict.fromkeys(name for name, _ in STREAMS))
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.arena",
        description=f"All selectors on all streams, {DEFAULT!r} among them.",
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("DRIFTSIEVE_DATA"), help="folder of data sets"
    )
    parser.add_argument("--only", nargs="+", choices=names, help="streams")
    parser.add_argument("--seeds", type=int, help="of the learner (4; 20 for short streams)")
    parser.add_argument("--quick", action="store_true", help="the first rows of three streams")
    parser.add_argument("--json", type=Path, default=Path("build/bench-arena.json"))
    options = parser.parse_args()
    options.only = options.only or (QUICK if options.quick else names)
    return options


if __name__ == "__main__":
    main()
