"""What a run found, on standard output: a table and a line for people, JSON for machines."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from driftsieve.bank import Bank
from driftsieve.cli.ranking import Certificate, Ranking
from driftsieve.report.text import printable

_LONGEST = 200  # letters of a name


def ranking_table(ranking: Ranking, top: int) -> None:
    """Print the best features: lines and colours on a terminal, plain columns elsewhere."""
    plain = not sys.stdout.isatty()
    table = Table(box=None if plain else box.SIMPLE_HEAD, pad_edge=not plain)
    table.add_column("rank", justify="right")
    table.add_column("feature", no_wrap=True, overflow="ellipsis")
    table.add_column(ranking.score, justify="right")
    if ranking.pvalues is not None:
        table.add_column("p-value", justify="right")
    for place, _, name, *numbers in ranking.rows(top):
        shown = printable(name if len(name) <= _LONGEST else name[:_LONGEST] + "…")
        formats = zip(numbers, (".6g", ".2g"), strict=False)
        table.add_row(str(place), Text(shown), *(f"{x:{form}}" for x, form in formats))
    # A pipe has no width: what it gets is never wrapped or cut.
    Console(width=1000 if plain else None, color_system=None if plain else "auto").print(table)


def summary(bank: Bank, certificate: Certificate) -> str:
    """What was screened, in a line."""
    classes = ", ".join(printable(str(label)) for label in bank.classes[:5].tolist())
    more = ", …" if len(bank.classes) > 5 else ""
    return (
        f"{count(bank.n_rows, 'row')}, {count(bank.n_features, 'feature')}, "
        f"{len(bank.classes)} classes ({classes}{more}). {promise(bank, certificate)}"
    )


def count(n: int, noun: str) -> str:
    """``1 row``, ``1,000 rows``."""
    return f"{n:,} {noun}" + ("s" if n != 1 else "")


def beyond_limits(ignored: Mapping[str, int]) -> str:
    """``2 rows, 1 value``; nothing where nothing was left out."""
    return ", ".join(count(n, kind.removesuffix("s")) for kind, n in ignored.items() if n)


def promise(bank: Bank, certificate: Certificate) -> str:
    """How exact the bins are."""
    if not bank.quantiles:
        return "No quantiles are kept."
    if certificate.n_exact == bank.n_features:
        return "The quantiles of every feature are exact."
    return (
        f"No rank is off by more than {certificate.largest:.2g} of the weight "
        f"(promised: {bank.epsilon}); of {bank.n_features:,} features, {certificate.n_exact:,} "
        "are exact."
    )


def facts(bank: Bank, certificate: Certificate) -> dict[str, Any]:
    """The same for machines."""
    weights = bank.freeze(features=slice(0)).class_weight.tolist()
    labels = bank.classes.tolist()
    error = {"largest": certificate.largest, "exact_features": certificate.n_exact}
    return {
        "rows": bank.n_rows,
        "features": bank.n_features,
        "classes": [{"label": c, "weight": w} for c, w in zip(labels, weights, strict=True)],
        "rank_error": error if bank.quantiles else None,
        "beyond_limits": bank.ignored,
    }
