"""Output of results: a table and a line for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from driftsieve._text import printable
from driftsieve.cli.ranking import Ranking
from driftsieve.memory import LearnedBank
from driftsieve.memory.reading import AnyBank
from driftsieve.scores import SCORES
from driftsieve.scores.reader import Certificate, certificate

_LONGEST = 200  # largest number of characters of a name


def ranking_table(rankings: Sequence[Ranking], top: int) -> None:
    """Print the best features: with lines and colours on a terminal, as plain columns elsewhere."""
    plain = not sys.stdout.isatty()
    table = Table(box=None if plain else box.SIMPLE_HEAD, pad_edge=not plain)
    ranking = rankings[0]
    if ranking.half_life is not None:
        table.add_column("half-life", justify="right")
    table.add_column("rank", justify="right")
    table.add_column("feature", no_wrap=True, overflow="ellipsis")
    table.add_column(ranking.score, justify="right")
    if SCORES[ranking.score].pvalues is not None:
        table.add_column("p-value", justify="right")
    for ranking in rankings:
        life = [] if ranking.half_life is None else [f"{ranking.half_life:,g}"]
        for (place, _, name, *numbers), n_digits in zip(
            ranking.rows(top), ranking.digits(top), strict=True
        ):
            shown = printable(name if len(name) <= _LONGEST else name[:_LONGEST] + "…")
            formats = zip(numbers, (f".{n_digits}g", ".2g"), strict=False)
            table.add_row(*life, str(place), Text(shown), *(f"{x:{form}}" for x, form in formats))
    # A pipe has no width: lines are neither wrapped nor cut.
    Console(width=1000 if plain else None, color_system=None if plain else "auto").print(table)


def summary(bank: AnyBank, quality: Certificate) -> str:
    """Return a summary of the screened rows in one line."""
    classes = ", ".join(printable(str(label)) for label in bank.classes[:5].tolist())
    more = ", …" if len(bank.classes) > 5 else ""
    return (
        f"{count(bank.n_rows, 'row')}, {count(bank.n_features, 'feature')}, "
        f"{len(bank.classes)} classes ({classes}{more}). {promise(bank, quality)}"
    )


def count(n: int, noun: str) -> str:
    """Return ``1 row`` or ``1,000 rows``."""
    return f"{n:,} {noun}" + ("s" if n != 1 else "")


def beyond_limits(ignored: Mapping[str, int]) -> str:
    """Return ``2 rows, 1 value``, or "" if nothing was left out."""
    return ", ".join(count(n, kind.removesuffix("s")) for kind, n in ignored.items() if n)


def promise(bank: AnyBank, quality: Certificate) -> str:
    """Return a sentence on how exact the bins are."""
    if not bank.quantiles:
        return "No quantiles are kept."
    if quality.n_exact == bank.n_features:
        return "The quantiles of every feature are exact."
    return (
        f"No rank is off by more than {quality.largest:.2g} of the weight "
        f"(promised: {bank.epsilon}); of {count(bank.n_features, 'feature')}, {quality.n_exact:,} "
        f"{'is' if quality.n_exact == 1 else 'are'} exact."
    )


def quality_of(bank: AnyBank) -> Certificate:
    """Return the certificate of a bank, the worst of several half-lives."""
    if isinstance(bank, LearnedBank):
        return certificate(bank)
    found = [certificate(bank, half_life) for half_life in bank.half_lives]
    return Certificate(max(c.largest for c in found), min(c.n_exact for c in found))


def facts(bank: AnyBank, quality: Certificate) -> dict[str, Any]:
    """Return the result as JSON values."""
    longest = None if isinstance(bank, LearnedBank) else bank.half_lives[-1]
    weights = bank.snapshot(features=slice(0), half_life=longest).class_weight.tolist()
    labels = bank.classes.tolist()
    error = {"largest": quality.largest, "exact_features": quality.n_exact}
    return {
        "rows": bank.n_rows,
        "features": bank.n_features,
        "classes": [{"label": c, "weight": w} for c, w in zip(labels, weights, strict=True)],
        "rank_error": error if bank.quantiles else None,
        "beyond_limits": bank.ignored,
    }
