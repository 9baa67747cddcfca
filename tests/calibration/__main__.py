"""Measure the whole grid and put its table into docs/statistics.md: `make calibration`."""

import argparse
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from .noise import LEVELS, TESTED, grid, rates
from .power import BY_HAND, STREAMS, power

PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"
BOUNDS = (0.065, 0.002)

CONDITIONS = {
    "plain rows": lambda c: c.weights == "unit" and not (c.fading or c.missing),
    "faded, half-life a fifth of the rows": lambda c: c.fading and c.timing == "even",
    "two classes, 50 %": lambda c: c.classes == 2 and c.share is None,
    "two classes, one of 10 %": lambda c: c.share == 0.1,
    "two classes, one of 1 %": lambda c: c.share == 0.01,
    "3 classes": lambda c: c.classes == 3,
    "20 classes": lambda c: c.classes == 20,
    "100 classes": lambda c: c.classes == 100,
    "random weights (exponential)": lambda c: c.weights == "random",
    "tenfold weight on one class": lambda c: c.weights == "class",
    "a class in the last 4 % of the rows only": lambda c: c.timing == "new",
    "a class silent for four half-lives": lambda c: c.timing == "silent",
    "50 % missing at random": lambda c: c.missing == 0.5 and c.missing_by == "chance",
    "95 % missing at random": lambda c: c.missing == 0.95 and c.missing_by == "chance",
    "the first 50 % or 95 % missing": lambda c: c.missing_by == "time",
    "normal values": lambda c: c.values == "normal",
    "tied values (Poisson)": lambda c: c.values == "tied",
    "flags in 20 % of the rows": lambda c: c.values == "flag",
    "flags in 1 % of the rows": lambda c: c.values == "rare",
    "sparse real values in 2 % of the rows": lambda c: c.values == "real",
    "sparse flags in recent rows only": lambda c: c.storage == "recent",
    "30 rows": lambda c: c.rows == 30,
    "300 rows": lambda c: c.rows == 300,
    "3,000 rows": lambda c: c.rows == 3000,
    "10,000 rows": lambda c: c.rows == 10_000,
}


def table(cells, found):
    """One line per condition: mean and largest rate over its cells, at each level."""
    lines = [
        "| streams with | cells | " + " | ".join(TESTED) + " |",
        "|---|---|" + "---|" * len(TESTED),
    ]
    for title, holds in {**CONDITIONS, "all": lambda _: True}.items():
        of_title = [i for i, cell in enumerate(cells) if holds(cell)]
        if not of_title:  # a trial of some cells
            continue
        entries = []
        for name in TESTED:
            rate = np.array([found[i][name] for i in of_title])
            mean, most = rate.mean(axis=0), rate.max(axis=0)
            entries.append(f"{mean[0]:.3f} ({most[0]:.3f}), {mean[1]:.4f} ({most[1]:.4f})")
        lines.append(f"| {title} | {len(of_title)} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def power_table(found):
    """One line per stream: share of shifted features that each test finds."""
    names = [BY_HAND, *TESTED]
    lines = ["| shift of one class in | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for title, share in found.items():
        lines.append(f"| {title} | " + " | ".join(f"{share[name]:.2f}" for name in names) + " |")
    return "\n".join(lines)


def put(text, mark):
    """Replace the text in docs/statistics.md between a mark and the end of that part."""
    part = rf"(?<=<!-- {mark} -->\n).*?(?=\n<!-- end -->)"
    page = re.sub(part, lambda _: text, PAGE.read_text("utf-8"), flags=re.S)
    PAGE.write_text(page, "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=2000, help="for each cell of the grid")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="take every n-th cell: for a trial")
    parser.add_argument("--no-page", action="store_true", help="leave docs/statistics.md as it is")
    args = parser.parse_args()
    cells = grid()[:: args.every]
    with ProcessPoolExecutor(args.jobs) as pool:
        found = list(pool.map(partial(rates, n_features=args.features), cells, chunksize=4))
    measured = table(cells, found)
    print(measured)
    beyond = []
    for cell, rate in zip(cells, found, strict=True):
        for name in TESTED:
            for level, bound, share in zip(LEVELS, BOUNDS, rate[name], strict=True):
                if share > bound + 4 * np.sqrt(bound / args.features):
                    beyond.append(f"- {cell}: {name}, {share:.4f} below {level}")
    print("\nBeyond the bounds and four standard errors:", *(beyond or ["none"]), sep="\n")
    shifts = power_table({title: power(noise, 500) for title, noise in STREAMS.items()})
    print("\nPower:", shifts, sep="\n")
    if not args.no_page:
        text = measured + "\n\nBeyond the bounds and four standard errors:\n\n"
        put(text + "\n".join(beyond or ["- none"]), "calibration")
        put(shifts, "power")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
