"""The ranking of a bank: computed block by block, printed, and written to a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.names import FeatureNames, name_of
from driftsieve._storage.atomic import replacing
from driftsieve.memory import LearnedBank
from driftsieve.memory.reading import AnyBank, read_scores
from driftsieve.report import to_json
from driftsieve.scores import SCORES, rank
from driftsieve.scores.reader import Blocks, error_shares, read_some
from driftsieve.snapshot import Floats
from driftsieve.sources.files.paths import pyarrow

_MOST_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Ranking:
    """The score of each feature, and the features from the best to the worst.

    p-values take longer than everything else, and are computed only for features that are shown.
    """

    score: str
    scores: Floats
    order: NDArray[np.int64]
    names: FeatureNames | None
    blocks: Blocks
    half_life: float | None = None
    """The half-life, for a bank with several."""

    @classmethod
    def of(cls, bank: AnyBank, score: str, n_bins: int, half_life: float | None = None) -> Ranking:
        entry, blocks = SCORES[score], Blocks(bank, n_bins, half_life)
        if isinstance(bank, LearnedBank):
            values = read_scores(bank, score, n_bins)
        else:
            values = np.concatenate([entry.function(block) for block in blocks])
        order = np.argsort(rank(values, entry.larger_is_better))
        return cls(score, values, order, bank.feature_names, blocks, half_life)

    def columns(self, top: int | None = None) -> dict[str, Any]:
        """Rank, number, name, score and p-value of each feature, the best first."""
        order = self.order[:top]
        features = order.tolist()
        columns: dict[str, Any] = {
            "rank": np.arange(1, len(order) + 1),
            "feature": order,
            "name": [name_of(f, self.names) for f in features],
            "score": self.scores[order],
        }
        pvalues = SCORES[self.score].pvalues
        if pvalues is not None:
            columns["pvalue"] = read_some(self.blocks, pvalues, order)
        return columns

    def rows(self, top: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Return one record per feature."""
        columns = self.columns(top).values()
        lists = (c if isinstance(c, list) else c.tolist() for c in columns)
        return zip(*lists, strict=True)

    def digits(self, top: int | None = None) -> list[int]:
        """Return how many digits of each score are certain; six if the ranks have no error."""
        order = self.order[:top]
        if SCORES[self.score].needs == "moments":
            return [_MOST_DIGITS] * len(order)
        return digits_within(read_some(self.blocks, error_shares, order))

    def records(self, top: int | None = None) -> list[dict[str, Any]]:
        names = tuple(self.columns(0))
        life = {} if self.half_life is None else {"half_life": self.half_life}
        return [life | dict(zip(names, row, strict=True)) for row in self.rows(top)]


def digits_within(errors: Floats) -> list[int]:
    """Return the certain digits of a score, given its rank error as a share of the weight.

    >>> digits_within(np.array([0.0, 0.02, 0.006, 0.0004]))
    [6, 2, 3, 4]
    """
    known = 1 - np.ceil(np.log10(np.maximum(errors, 1e-9)))
    return [int(n) for n in np.clip(known, 2, _MOST_DIGITS)]


def rankings_of(bank: AnyBank, score: str, n_bins: int) -> list[Ranking]:
    """Return one ranking, or one for each half-life of a bank with several."""
    if isinstance(bank, LearnedBank) or len(bank.half_lives) == 1:
        return [Ranking.of(bank, score, n_bins)]
    return [Ranking.of(bank, score, n_bins, half_life) for half_life in bank.half_lives]


def write(rankings: Sequence[Ranking], path: Path) -> None:
    """Replace the file by the complete rankings, in the format of its suffix."""
    with replacing(path) as file:
        WRITERS[path.suffix.lower()](rankings, file)


def _write_csv(rankings: Sequence[Ranking], file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    life = [] if rankings[0].half_life is None else ["half_life"]
    writer.writerow([*life, *rankings[0].columns(0)])
    for ranking in rankings:
        # Many features share a score, which is formatted once.
        lists = [c if isinstance(c, list) else c.tolist() for c in ranking.columns().values()]
        texts = [{number: repr(number) for number in set(column)} for column in lists[3:]]
        numbers = [map(known.__getitem__, c) for known, c in zip(texts, lists[3:], strict=True)]
        lives = [repeat(ranking.half_life, len(ranking.order))] if life else []
        writer.writerows(zip(*lives, *lists[:3], *numbers, strict=True))
    text.detach()  # flushes, and does not close the file


def _write_json(rankings: Sequence[Ranking], file: BinaryIO) -> None:
    records = [record for ranking in rankings for record in ranking.records()]
    content = {"score": rankings[0].score, "ranking": records}
    file.write(to_json(content, indent=1).encode() + b"\n")


def _write_parquet(rankings: Sequence[Ranking], file: BinaryIO) -> None:
    pa: Any = pyarrow("Writing parquet files")
    import pyarrow.parquet as pq

    tables = []
    for ranking in rankings:
        table = pa.table(ranking.columns())
        if ranking.half_life is not None:
            column = pa.array(np.full(len(table), ranking.half_life))
            table = table.add_column(0, "half_life", column)
        tables.append(table)
    pq.write_table(pa.concat_tables(tables), file)


WRITERS = {".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet}
