"""Real data through the command line give the scores that the Python interface gives."""

import numpy as np
import pyarrow.parquet as pq
from sklearn.datasets import dump_svmlight_file

import datasets
import driftsieve as ds
from driftsieve.scores import SCORES


def assert_same(call, sources, X, y, score, names, **settings):
    """The ranking file of the command line has the scores of a bank of the whole matrix."""
    options = [part for k, v in settings.items() for part in (f"--{k.replace('_', '-')}", v)]
    options += ["--score-func", score, "--out", "r.parquet", "--top", 0]
    code, _, err = call("screen", *sources, *options)
    assert code == 0
    assert all(line.startswith("Hint: rows resemble") for line in err.splitlines())
    table = pq.read_table("r.parquet")
    settings.pop("target", None)
    snapshot = ds.Bank(**settings).update(X, y).snapshot()
    order = table["feature"].to_numpy()
    assert sorted(order.tolist()) == list(range(len(order)))
    expected = SCORES[score].function(snapshot)
    np.testing.assert_array_equal(table["score"].to_numpy(), expected[order])
    pvalues = SCORES[score].pvalues
    if pvalues is not None:
        np.testing.assert_array_equal(table["pvalue"].to_numpy(), pvalues(snapshot)[order])
    assert table["name"].to_pylist()[:100] == [names(f) for f in order[:100].tolist()]
    return expected[len(order) :]


def index_name(feature):
    """Features of svmlight have the index that the file has, which begins at 1."""
    return f"x{feature + 1}"


def test_ranking_of_elec2_equals_that_of_a_bank(call, data_dir):
    X, y, names = datasets.elec2(data_dir)
    source = [data_dir / "elec2" / "elec2.csv.gz", "--target", -1]
    for score in SCORES:
        left = assert_same(call, source, X, y, score, names.__getitem__, half_life=5000.0)
        assert left.size == 0


def test_ranking_of_spam_equals_that_of_a_bank(call, data_dir, folder):
    X, y = datasets.spam(data_dir)
    dump_svmlight_file(X, y, str(folder / "spam.svm"), zero_based=False)
    for score, decay in (("mutual_info", 0.999), ("t", 1.0)):
        left = assert_same(call, ["spam.svm"], X, y, score, index_name, decay=decay)
        assert not left.any()  # columns without any entry in these rows


def test_ranking_of_six_days_of_url_equals_that_of_a_bank(call, data_dir):
    days = [datasets.url_mini(data_dir, day) for day in range(6)]
    sources = [data_dir / "url" / "Day*_mini.svm.gz"]
    X = datasets.sparse.vstack([X for X, _ in days]).tocsr()
    y = np.concatenate([y for _, y in days])
    left = assert_same(call, sources, X, y, "chi2", index_name, half_life=500.0)
    assert left.size < 100  # columns beyond the largest index
    assert not left.any()
