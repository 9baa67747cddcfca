"""The ranking that comes out of a bank: computed block by block, printed, written to a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve.atomic import replacing
from driftsieve.bank import Bank
from driftsieve.report import to_json
from driftsieve.scores import SCORES, rank
from driftsieve.scores.blocks import has_two_classes
from driftsieve.snapshot import Floats, Snapshot
from driftsieve.sources.files import pyarrow

_NUMBERS = 1 << 22  # frozen at a time: a bank of many features, bins or classes is never whole


class Certificate(NamedTuple):
    """How far the ranks behind the bins may be from the true ones, as a share of the weight."""

    largest: float
    n_exact: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """The score of each feature, and the features from the best to the worst."""

    score: str
    scores: Floats
    pvalues: Floats | None
    order: NDArray[np.int64]
    names: tuple[str, ...] | None
    certificate: Certificate

    @classmethod
    def of(cls, bank: Bank, score: str, n_bins: int) -> Ranking:
        entry = SCORES[score]
        scores, pvalues, shares = [], [], []
        for snapshot in Blocks(bank, n_bins):
            scores.append(entry.function(snapshot))
            pvalues.append(entry.pvalues(snapshot) if entry.pvalues else scores[-1])
            shares.append(_error_shares(snapshot))
        values = np.concatenate(scores)
        return cls(
            score,
            values,
            np.concatenate(pvalues) if entry.pvalues else None,
            np.argsort(rank(values, entry.larger_is_better)),
            bank.feature_names,
            _certificate(shares),
        )

    def columns(self, top: int | None = None) -> dict[str, Any]:
        """Rank, number, name, score and p-value of each feature, the best first."""
        order = self.order[:top]
        features = order.tolist()
        columns = {
            "rank": np.arange(1, len(order) + 1),
            "feature": order,
            "name": [f"x{f}" if self.names is None else self.names[f] for f in features],
            "score": self.scores[order],
        }
        return columns if self.pvalues is None else columns | {"pvalue": self.pvalues[order]}

    def rows(self, top: int | None = None) -> Iterator[tuple[Any, ...]]:
        """The same, feature by feature."""
        columns = self.columns(top).values()
        lists = (c if isinstance(c, list) else c.tolist() for c in columns)
        return zip(*lists, strict=True)

    def records(self, top: int | None = None) -> list[dict[str, Any]]:
        names = tuple(self.columns(0))
        return [dict(zip(names, row, strict=True)) for row in self.rows(top)]

    def write(self, path: Path) -> None:
        """Replace the file by the whole ranking, in the format that its suffix says."""
        with replacing(path) as file:
            WRITERS[path.suffix.lower()](self, file)


class Blocks(Sequence[Snapshot]):
    """Snapshots of all features, some at a time; one of no feature if there are none.

    Each is frozen when it is asked for, and kept by nobody.
    """

    def __init__(self, bank: Bank, n_bins: int) -> None:
        self._bank, self._n_bins = bank, n_bins
        each = (n_bins + 4) * max(1, len(bank.classes))  # numbers: bins, weight, mean, variance...
        self._size = max(1, _NUMBERS // each)

    def __len__(self) -> int:
        return len(range(0, max(1, self._bank.n_features), self._size))

    def __getitem__(self, i: int) -> Snapshot:  # type: ignore[override]  # of slices there are none
        if not 0 <= i < len(self):
            raise IndexError(i)
        start = i * self._size
        return self._bank.freeze(self._n_bins, slice(start, start + self._size))


def scores(bank: Bank, score: str, n_bins: int) -> Floats:
    """The score of each feature."""
    return np.concatenate([SCORES[score].function(block) for block in Blocks(bank, n_bins)])


def is_ready(bank: Bank) -> bool:
    """Whether there are rows of two classes, without which there are no scores."""
    return has_two_classes(bank.freeze(features=slice(0)))


def certificate(bank: Bank) -> Certificate:
    """That of all features of a bank."""
    return _certificate([_error_shares(block) for block in Blocks(bank, 2)])


def _error_shares(snapshot: Snapshot) -> Floats:
    weight = snapshot.weight.sum(axis=0)
    error = np.zeros_like(weight) if snapshot.rank_error is None else snapshot.rank_error
    shares: Floats = np.divide(error, weight, out=np.zeros_like(weight), where=weight > 0)
    return shares


def _certificate(shares: list[Floats]) -> Certificate:
    joined = np.concatenate(shares)
    return Certificate(float(joined.max(initial=0.0)), int((joined == 0).sum()))


def _write_csv(ranking: Ranking, file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(ranking.columns(0))
    writer.writerows(ranking.rows())
    text.detach()  # flushes, and leaves the file open


def _write_json(ranking: Ranking, file: BinaryIO) -> None:
    content = {"score": ranking.score, "ranking": ranking.records()}
    file.write(to_json(content, indent=1).encode() + b"\n")


def _write_parquet(ranking: Ranking, file: BinaryIO) -> None:
    pa: Any = pyarrow("Writing parquet files")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(ranking.columns()), file)


WRITERS = {".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet}
