"""The real data sets, read by as_batches and by others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_files

from driftsieve import as_batches


def test_days_of_url_are_read_as_by_scikit_learn(data_dir: Path) -> None:
    paths = sorted(map(str, data_dir.glob("url/Day*_mini.svm.gz")))
    parts = load_svmlight_files(paths, zero_based=False)
    X, y = sparse.vstack(parts[0::2], format="csr"), np.concatenate(parts[1::2])
    start = 0
    for batch in as_batches(data_dir / "url" / "Day*_mini.svm.gz", batch_size=150):
        stop = start + batch.n_rows
        expected = X[start:stop]
        assert batch.y.tolist() == y[start:stop].astype(int).tolist()
        np.testing.assert_array_equal(batch.X.indptr, expected.indptr)
        np.testing.assert_array_equal(batch.X.indices, expected.indices)
        np.testing.assert_array_equal(batch.X.data, expected.data)
        start = stop
    assert start == len(y)


def test_url_dense_has_no_header_and_its_label_first(data_dir: Path) -> None:
    path = data_dir / "url" / "Day0_dense_3000x299.csv.gz"
    expected = pd.read_csv(path, header=None).to_numpy()
    (batch,) = as_batches(path, target=0)
    np.testing.assert_array_equal(batch.X, expected[:, 1:])
    np.testing.assert_array_equal(batch.y, expected[:, 0])


@pytest.mark.filterwarnings("ignore:The 'float_precision' argument")
def test_elec2_is_read_as_by_pandas(data_dir: Path) -> None:
    path = data_dir / "elec2" / "elec2.csv.gz"
    expected = pd.read_csv(path, float_precision="round_trip")  # the default of pandas 3
    batches = list(as_batches(path, target="class", batch_size=10_000))
    np.testing.assert_array_equal(
        np.vstack([batch.X for batch in batches]), expected.drop(columns="class")
    )
    np.testing.assert_array_equal(np.concatenate([b.y for b in batches]), expected["class"])
    assert batches[0].feature_names == tuple(expected.columns[:-1])
