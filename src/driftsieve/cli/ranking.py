"""The ranking of a bank: computed block by block, printed, and written to a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.names import FeatureNames, names_of
from driftsieve._storage.atomic import replacing
from driftsieve.cli.csv_lines import csv_lines, integers, names, numbers, rows_together
from driftsieve.memory.reading import AnyBank, read_scores
from driftsieve.report import to_json
from driftsieve.scores import SCORES, rank
from driftsieve.scores.ranking import best_first
from driftsieve.scores.reader import Blocks, error_shares, read_bank, read_some
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
    def of(
        cls,
        bank: AnyBank,
        score: str,
        n_bins: int,
        half_life: float | None = None,
        scores: Floats | None = None,
    ) -> Ranking:
        """Rank the features of a bank by their scores, which are computed if they are not given."""
        entry = SCORES[score]
        bins = entry.bins(n_bins)
        if scores is None and half_life is None:
            scores = read_scores(bank, score, n_bins)
        elif scores is None:
            scores = read_bank(bank, entry.function, bins, half_life=half_life)
        order = best_first(rank(scores, entry.larger_is_better))
        blocks = Blocks(bank, bins, half_life)
        return cls(score, scores, order, bank.feature_names, blocks, half_life)

    def columns(self, top: int | None = None) -> dict[str, Any]:
        """Rank, number, name, score and p-value of each feature, the best first."""
        order = self.order[:top]
        columns: dict[str, Any] = {
            "rank": np.arange(1, len(order) + 1),
            "feature": order,
            "name": names_of(order.tolist(), self.names),
            "score": self.scores[order],
        }
        pvalues = self.pvalues(top)
        return columns if pvalues is None else columns | {"pvalue": pvalues}

    def pvalues(self, top: int | None = None) -> Floats | None:
        """Return the p-value of each feature, the best first; None for a score without."""
        function = SCORES[self.score].pvalues
        return None if function is None else read_some(self.blocks, function, self.order[:top])

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


def write_rankings(rankings: Sequence[Ranking], path: Path) -> None:
    """Replace the file by the complete rankings, in the format of its suffix."""
    with replacing(path) as file:
        WRITERS[path.suffix.lower()](rankings, file)


def _write_csv(rankings: Sequence[Ranking], file: BinaryIO) -> None:
    life = [] if rankings[0].half_life is None else ["half_life"]
    file.write(",".join([*life, *rankings[0].columns(0)]).encode() + b"\n")
    for ranking in rankings:
        step, pvalues = rows_together(ranking.names), ranking.pvalues()
        for begin in range(0, len(ranking.order), step):
            features = ranking.order[begin : begin + step]
            columns = [] if ranking.half_life is None else [numbers(np.array([ranking.half_life]))]
            columns.append(integers(np.arange(begin, begin + len(features)) + 1))
            columns += [integers(features), names(features, ranking.names)]
            columns.append(numbers(ranking.scores[features]))
            if pvalues is not None:
                columns.append(numbers(pvalues[begin : begin + step]))
            file.write(csv_lines(columns))


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
