"""The index of a pandas frame, which Arrow tables keep as a column, is no feature."""

import numpy as np
import pandas as pd
import pytest

import driftsieve as ds

pa = pytest.importorskip("pyarrow")

FRAME = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6.0) % 2}, index=[3, 1, 4, 0, 5, 2])
Y = [0, 0, 0, 1, 1, 1]


def tables():
    yield "__index_level_0__", pa.Table.from_pandas(FRAME)
    yield "place", pa.Table.from_pandas(FRAME.rename_axis("place"))
    polars = pytest.importorskip("polars", exc_type=ImportError)
    yield "__index_level_0__", polars.from_arrow(pa.Table.from_pandas(FRAME))


@pytest.mark.parametrize(("name", "table"), [*tables()])
def test_rows_with_the_index_of_pandas_are_refused(name, table):
    message = f"X must hold features only, got column '{name}', the index of a pandas frame"
    bank, screener = ds.Bank(), ds.FeatureScreener(k=1)
    for learn in (bank.update, screener.fit, screener.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(table, Y)
    assert bank.n_rows == 0
    river = pytest.importorskip("driftsieve.river")
    with pytest.raises(ValueError, match=message):
        river.FeatureScreener(k=1).learn_many(table, Y)
    kept = table.select(["a", "b"])  # the metadata still name the index
    assert bank.update(kept, Y).feature_names == ("a", "b")


def test_a_range_for_an_index_is_no_column():
    table = pa.Table.from_pandas(FRAME.reset_index(drop=True))
    assert ds.Bank().update(table, Y).feature_names == ("a", "b")
    frame = FRAME.rename_axis("place").reset_index()
    assert ds.Bank().update(frame, Y).feature_names == ("place", "a", "b")
