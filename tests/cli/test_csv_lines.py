"""Lines of csv from columns are those of the csv module."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftsieve import Bank, Batch
from driftsieve._rows.names import NumberedNames, UniqueNames
from driftsieve.cli import csv_lines, ranking

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['"', ",", 'say "hi"', "a,b", "two\nlines", "\r", "\0", "", " ", "\xff", "naïve", "日本"]
)
SCORES = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1e-5, 1e16, np.inf, -np.inf])


def expected(*columns):
    """Return what the csv module writes."""
    text = io.StringIO(newline="")
    rows = zip(*columns, strict=True)
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), SCORES), min_size=1, max_size=30))
def test_numbers_are_written_as_the_csv_module_does(rows):
    whole, real = zip(*rows, strict=True)
    cells = [csv_lines.integers(np.array(whole)), csv_lines.numbers(np.array(real, float))]
    assert csv_lines.csv_lines(cells) == expected(whole, real)


@given(st.lists(NAMES, min_size=1, max_size=30, unique=True), st.randoms())
def test_names_are_quoted_as_the_csv_module_does(names, random):
    order = random.sample(range(len(names)), len(names))
    features = np.array(order)
    cells = [csv_lines.integers(features), csv_lines.names(features, UniqueNames(names))]
    assert csv_lines.csv_lines(cells) == expected(order, [names[f] for f in order])


@pytest.mark.parametrize("known", [None, NumberedNames(7, 2000)])
def test_names_are_those_of_the_numbered_features(known):
    features = np.array([1999, 0, 12, 3])
    names = [f"x{f}" if known is None else known[f] for f in features.tolist()]
    cells = [csv_lines.integers(features), csv_lines.names(features, known)]
    assert csv_lines.csv_lines(cells) == expected(features.tolist(), names)


def test_a_column_of_one_cell_is_repeated():
    cells = [csv_lines.numbers(np.array([np.inf])), csv_lines.integers(np.arange(3))]
    assert csv_lines.csv_lines(cells) == b"inf,0\ninf,1\ninf,2\n"


def test_long_names_are_written_in_small_parts(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    names = [f"{j}" * (j % 7) + f",{j}" for j in range(500)]
    rows = Batch.of(rng.normal(size=(50, 500)), np.arange(50) % 2, feature_names=names)
    bank = Bank(quantiles=False).update(rows)
    order = ranking.Ranking.of(bank, "t", 5)
    ranking.write_rankings([order], tmp_path / "whole.csv")
    monkeypatch.setattr(csv_lines, "_MOST_BYTES", 1000)
    assert csv_lines.rows_together(order.names) < 20
    ranking.write_rankings([order], tmp_path / "parts.csv")
    written = (tmp_path / "parts.csv").read_bytes()
    assert written == (tmp_path / "whole.csv").read_bytes()
    columns = [c if isinstance(c, list) else c.tolist() for c in order.columns().values()]
    assert written == b"rank,feature,name,score,pvalue\n" + expected(*columns)
