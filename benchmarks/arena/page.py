"""Puts the figures into docs/arena.md: ``python -m benchmarks.arena.page``."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from benchmarks.arena.competitors import DEFAULT, HALF_LIVES, NONE, guess, learned
from benchmarks.arena.streams import BATCH, STREAMS
from benchmarks.page import described, fill, refuse_quick
from driftsieve.scores import SCORES

Found = dict[str, Any]

GUESSES = [guess(score, half_life) for score in SCORES for half_life in HALF_LIVES]
LEAP = "spam500"
WINDOW = 10
"""Batches of one line of the table over time."""
SAME = ["mutual_info", *[score for score in SCORES if score != "mutual_info"]]
FIRES = ["FIRES, minmax", "FIRES, standard"]
OFS = ["OFS, minmax", "OFS, standard"]
TRUNCATED = ["OFS truncated, minmax", "OFS truncated, standard"]
ANNEALED = ["SparseFSA, minmax", "SparseFSA, standard"]
RIVER = ["river SelectKBest"]

PUBLISHED: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "usenet1, 10": ((54.5, 53.4), (55.2, 56.5)),
    "emailing, 10": ((56.3, 57.2), (56.0, 56.3)),
    "emailing, 91": ((54.9, 61.2), (58.6, 60.8)),
    "spam500, 50": ((87.4, 92.2), (92.2, 88.9)),
    "spam, 100": ((90.3,), (93.0,)),
    "news20, 200": ((72.8, 80.1), (72.2, 63.7)),
    "elec2, 3": ((56.2, 68.5), (68.1, 67.4)),
    "weather, 3": ((68.1, 67.5), (68.2, 66.3)),
    "swap100, 10": ((70.5, 71.8), (82.6, 78.1)),
    "spambase, 10": ((75.0, 78.0), (75.6, 72.0)),
    "phishing, 10": ((89.6, 89.9), (90.5, 90.0)),
}
"""What published implementations of FIRES and OFS reached, scaled to [0, 1] and standardised."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arena.page", description=__doc__)
    parser.add_argument("--page", type=Path, default=Path("docs/arena.md"))
    parser.add_argument(
        "--json", type=Path, nargs="+", default=[Path("build/bench-arena.json")], help="of any runs"
    )
    options = parser.parse_args()
    found = joined(options.json)
    text = options.page.read_text(encoding="utf-8")
    for name, content in contents(found).items():
        text = fill(text, name, content)
    options.page.write_text(text, encoding="utf-8")


def joined(paths: list[Path]) -> Found:
    """Results of the runs, in the order of the streams; the last run of a stream counts."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    for path, run in zip(paths, runs, strict=True):
        refuse_quick(path, run)
    order = [f"{name}, {k}" for name, k in STREAMS]
    latest = {title(stream): stream for run in runs for stream in run["streams"]}
    streams = sorted(latest.values(), key=lambda stream: order.index(title(stream)))
    missing = {
        name: why for run in runs for name, why in run["missing"].items() if name not in latest
    }
    return {**runs[0], "streams": streams, "missing": missing}


def contents(found: Found) -> dict[str, str]:
    """The text between the markers of the page, by their names."""
    streams = found["streams"]
    minutes = sum(stream["seconds"] for stream in streams) / 60
    about = described(found["machine"], f"- processor time: {minutes:.0f} minutes in all")
    missing = [f"- {name} is left out: {why}" for name, why in found["missing"].items()]
    return {
        "against": against(streams),
        "sgd": "\n".join([about, *missing]) + "\n\n" + overview(streams),
        "nb": overview(streams, naive_bayes),
        "spread": spread(streams),
        "guess": against_guesses(streams),
        "peers": against_peers(streams),
        "captured": captured(streams),
        "stability": simple(streams, "stability", 2),
        "time": simple(streams, "ms", 2),
        "scores": by_score(streams),
        "half-lives": by_half_life(streams),
        "leap": "\n\n".join(over_time(s) for s in streams if s["name"] == LEAP),
        "published": against_published(streams),
    }


# --- results of a competitor ----------------------------------------------------------------------


def sgd(result: Found) -> float:
    return fmean(result["sgd"])


def naive_bayes(result: Found) -> float:
    return result["nb"]


def best(stream: Found, names: Iterable[str], value: Callable[[Found], float]) -> float | None:
    """The largest value of those that ran."""
    ran = [value(stream["results"][name]) for name in names if name in stream["results"]]
    return max(ran, default=None)


def guesses(stream: Found, value: Callable[[Found], float]) -> list[float]:
    return [value(stream["results"][name]) for name in GUESSES]


def error(values: list[float]) -> float:
    """Standard error of the mean."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


# --- tables ---------------------------------------------------------------------------------------


def overview(streams: list[Found], value: Callable[[Found], float] = sgd) -> str:
    """Accuracy, one line a stream; where there are two inputs, both of them."""
    header = ["stream, k", "no selection", "FIRES", "OFS", "OFS truncated", "river", "SparseFSA"]
    header += ["default", "best guess", "median guess", "worst guess"]
    rows = []
    for stream in streams:
        results, guessed = stream["results"], guesses(stream, value)
        row = [title(stream), number(value(results[NONE]))]
        row += [
            " / ".join(number(value(results[name])) if name in results else "–" for name in names)
            for names in (FIRES, OFS, TRUNCATED, RIVER, ANNEALED)
        ]
        row += [f"**{number(value(results[DEFAULT]))}**"]
        row += map(number, (max(guessed), median(guessed), min(guessed)))
        rows.append(row)
    means = [
        fmean(found) for found in zip(*[_means(stream, value) for stream in streams], strict=True)
    ]
    fires, ofs, annealed, ours, *of_guesses = map(number, means)
    rows.append(
        [
            "mean of the streams, the better input",
            "",
            fires,
            ofs,
            "",
            "",
            annealed,
            f"**{ours}**",
            *of_guesses,
        ]
    )
    return markdown(header, rows)


def _means(stream: Found, value: Callable[[Found], float]) -> list[float]:
    of_groups = [best(stream, names, value) for names in (FIRES, OFS, ANNEALED, [DEFAULT])]
    guessed = guesses(stream, value)
    return [*of_groups, max(guessed), median(guessed), min(guessed)]


def spread(streams: list[Found]) -> str:
    """Standard deviation over the seeds of the learner."""
    shown = {"no selection": NONE, "FIRES": FIRES[1], "OFS": OFS[0], "default": DEFAULT}
    rows = []
    for stream in streams:
        of_seeds = [stream["results"][name]["sgd"] for name in shown.values()]
        deviations = [number(stdev(values)) if len(values) > 1 else "–" for values in of_seeds]
        rows.append([title(stream), str(stream["seeds"]), *deviations])
    return markdown(["stream, k", "seeds", *shown], rows)


def against_guesses(streams: list[Found]) -> str:
    """Default less median guess, with standard errors over seeds, and its place among guesses."""
    header = ["stream, k", "default less median, SGD", "guesses below it", "below the median?"]
    header += ["default less median, naive Bayes", "captured, default", "captured, median"]
    rows = []
    for stream in streams:
        gap, noise = gap_to_median(stream)
        default = stream["results"][DEFAULT]
        below = sum(value < sgd(default) for value in guesses(stream, sgd))
        verdict = "no" if gap >= 0 else "yes" if gap < -2 * noise else "within noise"
        nb = naive_bayes(default) - median(guesses(stream, naive_bayes))
        most = max(guesses(stream, _captured))
        shares = [_captured(default) / most, median(guesses(stream, _captured)) / most]
        row = [title(stream), f"{gap:+.1f} ± {noise:.1f}", f"{below} of {len(GUESSES)}", verdict]
        rows.append([*row, f"{nb:+.1f}", *(f"{share:.3f}" for share in shares)])
    return markdown(header, rows)


def gap_to_median(stream: Found) -> tuple[float, float]:
    """Accuracy of the default less that of the median guess, and the standard error of that."""
    results = stream["results"]
    middle = sorted(GUESSES, key=lambda name: sgd(results[name]))[len(GUESSES) // 2]
    gap = sgd(results[DEFAULT]) - sgd(results[middle])
    return gap, math.hypot(error(results[DEFAULT]["sgd"]), error(results[middle]["sgd"]))


def against_peers(streams: list[Found]) -> str:
    """Default less the better of FIRES and OFS, for both learners."""
    header = ["stream, k", "SGD", "naive Bayes", "at most 0.5 below, SGD?", "time, × OFS"]
    rows, gaps = [], []
    for stream in streams:
        results = stream["results"]
        gap = [
            value(results[DEFAULT]) - max(value(results[name]) for name in (*FIRES, *OFS))
            for value in (sgd, naive_bayes)
        ]
        gaps.append(gap)
        ratio = results[DEFAULT]["ms"] / results[OFS[0]]["ms"]
        met = "yes" if gap[0] >= -0.5 else "no"
        rows.append([title(stream), *(f"{g:+.1f}" for g in gap), met, f"{ratio:.0f}"])
    means = [fmean(column) for column in zip(*gaps, strict=True)]
    n_met = sum(gap[0] >= -0.5 for gap in gaps)
    rows.append(["mean", *(f"{g:+.1f}" for g in means), f"{n_met} of {len(rows)}", ""])
    return markdown(header, rows)


def against(streams: list[Found]) -> str:
    """Results in the tables in which the default is behind, in sentences."""
    peers, below, doubtful = [], [], []
    for stream in streams:
        results = stream["results"]
        if (gap := sgd(results[DEFAULT]) - best(stream, [*FIRES, *OFS], sgd)) < -0.5:
            peers.append(f"{title(stream)} ({gap:+.1f})")
        gap, noise = gap_to_median(stream)
        if gap < 0:
            (below if gap < -2 * noise else doubtful).append(f"{title(stream)} ({gap:+.1f})")
    times = [s["results"][DEFAULT]["ms"] / s["results"][OFS[0]]["ms"] for s in streams]
    annealed = [best(s, ANNEALED, sgd) - sgd(s["results"][DEFAULT]) for s in streams]
    unselected = [sgd(s["results"][NONE]) - sgd(s["results"][DEFAULT]) for s in streams]
    n, n_annealed, n_unselected = len(streams), _count(annealed), _count(unselected)
    said = [
        (
            f"More than 0.5 points below the better of FIRES and OFS, with the better of their two "
            f"inputs, on {len(peers)} of {n} streams: {_listed(peers)}."
        ),
        (
            f"Below the median guess beyond noise (two standard errors): {_listed(below)}. "
            f"Below it within noise: {_listed(doubtful)}."
        ),
        f"`SparseFSA`, a model of all features, is more than 0.5 better on {n_annealed} of {n}.",
        f"Without any selection, the learner is more than 0.5 better on {n_unselected} of {n}.",
        f"A batch takes {min(times):.0f} to {max(times):.0f} times as long as with OFS.",
    ]
    return "\n".join(f"- {sentence}" for sentence in said)


def _count(gaps: list[float]) -> int:
    return sum(gap > 0.5 for gap in gaps)


def _listed(names: list[str]) -> str:
    return "; ".join(names) or "none"


def _captured(result: Found) -> float:
    return result["captured"]


def captured(streams: list[Found]) -> str:
    """Relevance captured, relative to that of the best guess."""
    groups = {"FIRES": FIRES, "OFS": OFS, "OFS truncated": TRUNCATED, "river": RIVER}
    groups |= {"SparseFSA": ANNEALED, "default": [DEFAULT]}
    rows = []
    for stream in streams:
        guessed = guesses(stream, _captured)
        row = [title(stream)]
        for names in groups.values():
            most = best(stream, names, _captured)
            row.append("–" if most is None else f"{most / max(guessed):.3f}")
        rows.append([*row, *(f"{q(guessed) / max(guessed):.3f}" for q in (median, min))])
    return markdown(["stream, k", *groups, "median guess", "worst guess"], rows)


def simple(streams: list[Found], key: str, digits: int) -> str:
    """One figure of the main competitors."""
    fixed = guess("mutual_info", 1000.0)
    names = {"FIRES": FIRES[1], "OFS": OFS[0], "OFS truncated": TRUNCATED[0], "river": RIVER[0]}
    names |= {"SparseFSA": ANNEALED[0], "default": DEFAULT, "Fisher, learned": learned("fisher")}
    names |= {"MI, half-life 1,000": fixed, "Fisher, half-life 1,000": guess("fisher", 1000.0)}
    rows = []
    for stream in streams:
        values = [stream["results"].get(name, {}).get(key) for name in names.values()]
        shown = ("–" if value is None else f"{value:.{digits}f}" for value in values)
        rows.append([title(stream), *shown])
    return markdown(["stream, k", *names], rows)


def by_score(streams: list[Found]) -> str:
    """Accuracy with the learned memory, less the median over half-lives of the same score."""
    rows = []
    for stream in streams:
        row = [title(stream)]
        for score in SAME:
            ours = sgd(stream["results"][learned(score)])
            fixed = median(sgd(stream["results"][guess(score, h)]) for h in HALF_LIVES)
            row.append(f"{number(ours)} ({ours - fixed:+.1f})")
        rows.append(row)
    return markdown(["stream, k", *SAME], rows)


def by_half_life(streams: list[Found]) -> str:
    """Accuracy of both learners with mutual information at each half-life, and learned."""
    names = _memories()
    rows = []
    for stream in streams:
        results = [stream["results"][name] for name in names.values()]
        shown = (f"{number(sgd(r))} / {number(naive_bayes(r))}" for r in results)
        rows.append([title(stream), *shown])
    return markdown(["stream, k", *names], rows)


def _memories() -> dict[str, str]:
    """Competitors that rank by mutual information, by the memory that they have."""
    names = {"learned": DEFAULT}
    names |= {f"{h:,.0f}": guess("mutual_info", h) for h in HALF_LIVES if math.isfinite(h)}
    return names | {"never forgets": guess("mutual_info", math.inf)}


def over_time(stream: Found) -> str:
    """Accuracy of naive Bayes in every thousand rows, with the learned memory and without."""
    names = _memories()
    rows = []
    for first in range(BATCH, stream["rows"], BATCH * WINDOW):  # the first batch is not predicted
        end = min(first + BATCH * WINDOW, stream["rows"])
        batches = slice(first // BATCH - 1, first // BATCH - 1 + WINDOW)
        correct = [sum(stream["results"][n]["nb by batch"][batches]) for n in names.values()]
        shares = (number(100 * c / (end - first)) for c in correct)
        rows.append([f"{first:,} to {end:,}", *shares])
    return markdown(["rows", *names], rows)


def against_published(streams: list[Found]) -> str:
    """FIRES and OFS of this package beside published implementations."""
    header = ["stream, k", "FIRES, published", "FIRES, here", "OFS, published", "OFS, here"]
    rows = []
    for stream in streams:
        row = [title(stream)]
        for published, names in zip(PUBLISHED[title(stream)], (FIRES, OFS), strict=True):
            here = [stream["scaled by all rows"][name] for name in names]
            row.append(" / ".join(map(number, published)))
            row.append(
                " / ".join(f"{fmean(v):.1f} ± {error(v):.1f}" for v in here[: len(published)])
            )
        rows.append(row)
    return markdown(header, rows)


def title(stream: Found) -> str:
    return f"{stream['name']}, {stream['k']}"


def number(value: float) -> str:
    return f"{value:.1f}"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
