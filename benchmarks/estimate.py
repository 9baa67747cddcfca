"""A run over 10⁹ rows × 10⁶ sparse features on 100 executors, worked out from measured rows."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.harness import Row
from benchmarks.share import EXECUTORS, FEATURES, NON_ZEROS, ROWS

TRANSFER = "Spark, sparse: rows to the workers"


def estimate(rows: Iterable[Row]) -> str:
    """The steps of the run, as a table in Markdown; KeyError if a figure has not been measured."""
    found = {row.work: row.ours for row in rows}

    def figure(work: str) -> float:
        return float(found[work] or 0.0)

    non_zeros = ROWS * NON_ZEROS  # of one executor: its share is ROWS rows
    transfer, update = (non_zeros * figure(work) * 1e-9 for work in (TRANSFER, "share: update"))
    cutting = FEATURES * figure("share: cutting into pieces") * 1e-6
    own = FEATURES / EXECUTORS  # features that an executor merges and scores
    merging = own * figure(f"share: merging {EXECUTORS}") * 1e-6
    scoring = own * figure("share: snapshot and score") * 1e-6
    seconds = {
        "rows from Spark to the Python worker": (
            f"{non_zeros:.3g} non-zeros × {figure(TRANSFER):.3g} ns",
            transfer,
        ),
        "rows into the bank": (f"× {figure('share: update'):.3g} ns", update),
        "cutting the bank into pieces": (f"{FEATURES:.0e} features", cutting),
        "merging the pieces": (f"{own:.0e} features of {EXECUTORS} banks each", merging),
        "scoring": (f"{own:.0e} features", scoring),
    }
    whole = sum(taken for _, taken in seconds.values())
    bank, piece = (
        FEATURES * figure(work) / 1e9 for work in ("share: bank in memory", "share: pieces")
    )
    slowest = max(seconds, key=lambda step: seconds[step][1])
    lines = ["| step, on each executor | made of | result |", "| --- | --- | --- |"]
    lines += [f"| {step} | {of} | {taken:.3g} s |" for step, (of, taken) in seconds.items()]
    lines += [
        f"| **time** | sum, one core an executor | **{whole:.0f} s** |",
        f"| **memory** | the bank, and as much again while it is cut | **{2 * bank:.2g} GB** |",
        f"| **shuffle** | pieces out, and as much in | **{piece:.2g} GB** |",
        f"| shuffle of all | {EXECUTORS} × | {EXECUTORS * piece:.3g} GB |",
        f"| to the driver | {FEATURES:.0e} × 24 bytes | {FEATURES * 24e-6:.0f} MB |",
        f"| **bottleneck** | {seconds[slowest][1] / whole:.0%} of the time | {slowest} |",
    ]
    return "\n".join(lines)
