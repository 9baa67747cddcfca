"""The arena runs, its loop has no leaks, and its peers find what matters."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from test_benchmarks import ROOT, quick

from benchmarks.arena import page
from benchmarks.arena.competitors import (
    DEFAULT,
    NONE,
    Annealed,
    Competitor,
    Everything,
    River,
    competitors,
)
from benchmarks.arena.evaluation import evaluate
from benchmarks.arena.fires import RATE, Fires
from benchmarks.arena.inputs import inputs
from benchmarks.arena.ofs import Ofs
from benchmarks.arena.streams import STREAMS, Stream, load
from benchmarks.page import fill
from driftsieve.reproduce.datasets import MissingDataError

PLANTED = [3, 11, 17]


def easy(n_rows: int = 1500, n_features: int = 40, *, seed: int = 0) -> Stream:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = X[:, PLANTED] @ [2.0, -2.0, 2.0] + 0.3 * rng.normal(size=n_rows) > 0
    return Stream.of("easy", len(PLANTED), X, y)


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize(
    "make",
    [Fires, Ofs, lambda p, k: Ofs(p, k, truncate=True), Annealed, River],
    ids=["FIRES", "OFS", "OFS truncated", "SparseFSA", "river"],
)
def test_planted_features_are_found(make: Any, as_csr: bool) -> None:
    stream = easy()
    selector = make(stream.X.shape[1], stream.k)
    assert len(selector.chosen()) == stream.k  # before the first row
    for X, y in stream.batches():
        selector.learn(sparse.csr_array(X) if as_csr else X, y)
    assert sorted(selector.chosen()) == PLANTED


def test_fires_climbs_the_likelihood_of_the_paper() -> None:
    stream = easy(n_rows=100, n_features=20)
    fires = Fires(20, 3)
    rng = np.random.default_rng(1)
    fires.mu, fires.sigma = rng.normal(size=20), rng.uniform(0.5, 1.5, 20)
    at = np.concatenate([fires.mu, fires.sigma])
    sign = 2 * stream.y - 1

    def log_likelihood(parameters: Any) -> float:
        mu, sigma = parameters[:20], parameters[20:]
        rho = np.sqrt(1 + stream.X**2 @ sigma**2)
        return float(norm.logcdf(sign * (stream.X @ mu) / rho).mean())

    step = 1e-6
    gradient = [
        (log_likelihood(at + step * e) - log_likelihood(at - step * e)) / (2 * step)
        for e in np.eye(40)
    ]
    fires.learn(stream.X, stream.y)
    moved = (np.concatenate([fires.mu, fires.sigma]) - at) / RATE
    np.testing.assert_allclose(moved, gradient, rtol=1e-6, atol=1e-8)


def test_truncated_ofs_keeps_k_weights_in_the_ball() -> None:
    stream = easy()
    ofs = Ofs(40, 3, truncate=True)
    ofs.learn(100 * stream.X, stream.y)
    assert np.count_nonzero(ofs.w) == 3
    assert np.linalg.norm(ofs.w) <= 10 * (1 + 1e-12)


def test_a_batch_is_predicted_before_it_is_learned() -> None:
    """Each batch has a column that equals its labels and is useless in all other batches."""
    rng = np.random.default_rng(0)
    n_batches = 12
    y = rng.integers(0, 2, 100 * n_batches)
    X = np.zeros((len(y), n_batches))
    for i in range(n_batches):
        rows = slice(100 * i, 100 * i + 100)
        X[rows, i] = y[rows]
    stream = Stream.of("leak", 1, X, y)
    found = evaluate(stream, competitors(X.size), 1)
    share = max(np.mean(y), 1 - np.mean(y))
    for name, result in found.items():
        assert abs(result["nb"] / 100 - 0.5) < 0.1, name
        assert result["sgd"][0] / 100 < share + 0.1, name


def test_selection_is_of_the_rows_before_a_batch() -> None:
    """Column c equals the labels of batch c, and of 2 to 5 batches before, but not of c - 1."""

    class Counter(Everything):
        n_learned = 0

        def learn(self, *_: Any) -> None:
            self.n_learned += 1

        def chosen(self) -> Any:
            return np.array([min(self.n_learned, self.n_features - 1)])

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    X = rng.integers(0, 2, (1500, 15)).astype(np.float64)
    for column in range(15):
        for batch in (column, *range(max(0, column - 5), column - 1)):
            rows = slice(100 * batch, 100 * batch + 100)
            X[rows, column] = y[rows]
    (found,) = evaluate(Stream.of("s", 1, X, y), {"counter": Competitor(Counter)}, 1).values()
    assert found["nb"] > 90


def test_inputs_are_scaled_by_earlier_rows() -> None:
    stream = easy(400)
    later = Stream("easy", 3, stream.X.copy(), stream.y)
    later.X[300:] *= 50
    for i, (a, b) in enumerate(zip(inputs(stream), inputs(later), strict=True)):
        same = [np.array_equal(getattr(a, kind), getattr(b, kind)) for kind in a._fields[1:3]]
        assert same == [i < 3, i < 3]
    whole = [batch.minmax for batch in inputs(stream, whole=True)]
    assert np.vstack(whole).min() == 0
    assert np.vstack(whole).max() == 1


def test_first_batches_of_one_class() -> None:
    stream = easy(1500)
    late = (np.arange(1500) < 500) & (stream.y == 1)
    order = np.argsort(late, kind="stable")  # those of the second class come last
    X = sparse.csr_array((stream.X > 0).astype(np.float64)[order])
    one_class_first = Stream("one", 3, X, stream.y[order])
    assert len(np.unique(one_class_first.y[:200])) == 1
    found = evaluate(one_class_first, competitors(stream.X.size), 1)
    assert all(50 < result["nb"] < 100 for result in found.values())
    assert found[DEFAULT]["captured"] == pytest.approx(found["OFS, minmax"]["captured"])


def test_masked_columns_do_not_help() -> None:
    """Noise is no better than chance, the planted features are nearly perfect."""

    class Fixed(Everything):
        def __init__(self, columns: list[int]) -> None:
            self.columns = columns

        def chosen(self) -> Any:
            return np.array(self.columns)

    stream = easy()
    wanted = {"noise": [0, 1, 2], "planted": PLANTED}
    made = {n: Competitor(lambda _p, _k, c=c: Fixed(c)) for n, c in wanted.items()}
    found = evaluate(stream, made, 2)
    for score in (lambda r: np.mean(r["sgd"]), lambda r: r["nb"]):
        assert score(found["noise"]) < 60 < 85 < score(found["planted"])
    assert found["planted"]["stability"] == 1.0
    assert found["planted"]["captured"] > 10 * abs(found["noise"]["captured"])


def test_absent_data_are_named(tmp_path: Path) -> None:
    for name, k in STREAMS:
        if name == "swap100":
            assert load(name, k, None).X.shape == (40_000, 100)
            continue
        for folder in (None, tmp_path):
            with pytest.raises(MissingDataError):
                load(name, k, folder)


def test_quick_run_and_page(tmp_path: Path) -> None:
    path = tmp_path / "arena.json"
    printed = quick("benchmarks.arena", "--only", "swap100", "--seeds", "2", "--json", path)
    assert "swap100, 10" in printed
    assert "cut short" in printed
    found = json.loads(path.read_text(encoding="utf-8"))
    (stream,) = found["streams"]
    assert set(stream["results"]) == set(competitors(stream["rows"] * stream["features"]))
    for name, result in stream["results"].items():
        assert len(result["sgd"]) == 2
        assert all(40 < value <= 100 for value in (*result["sgd"], result["nb"])), name
        assert result["slowest ms"] >= result["ms"] >= 0
        assert (result["captured"] is None) == (name == NONE)
    text = (ROOT / "docs" / "arena.md").read_text(encoding="utf-8")
    for name, content in page.contents(found).items():
        assert content in fill(text, name, content)
        assert "nan" not in content
    with pytest.raises(SystemExit, match="quick run"):
        page.joined([path])


def test_runs_of_several_streams_are_joined(tmp_path: Path) -> None:
    paths = []
    for i, (name, k) in enumerate([("phishing", 10), ("usenet1", 10), ("phishing", 10)]):
        streams = [{"name": name, "k": k, "run": i}]
        missing = {"usenet1, 10": "not there", f"m{i}": "gone"}
        run = {"quick": False, "streams": streams, "missing": missing}
        paths.append(tmp_path / f"{i}.json")
        paths[-1].write_text(json.dumps(run), encoding="utf-8")
    found = page.joined(paths)
    assert [(s["name"], s["run"]) for s in found["streams"]] == [("usenet1", 1), ("phishing", 2)]
    assert set(found["missing"]) == {"m0", "m1", "m2"}


def test_results_against_the_default_are_stated() -> None:
    results = {name: {"sgd": [80.0, 80.0], "ms": 1.0} for name in competitors(1)}
    stream = {"name": "usenet1", "k": 10, "results": results}
    assert page.against([stream]).count("none") == 3
    results[DEFAULT] = {"sgd": [77.0, 78.0], "ms": 7.0}
    peers, guesses, annealed, unselected, times = page.against([stream]).splitlines()
    assert "1 of 1 streams: usenet1, 10 (-2.5)" in peers
    assert "(two standard errors): usenet1, 10 (-2.5)" in guesses
    assert "1 of 1" in annealed
    assert "1 of 1" in unselected
    assert "7 to 7 times" in times
    results[DEFAULT] = {"sgd": [60.0, 98.0], "ms": 7.0}
    assert "(two standard errors): none" in page.against([stream])


def test_accuracy_over_time_counts_the_rows_of_the_last_batch() -> None:
    result = {"nb by batch": [100] * 10 + [50] * 2 + [12]}
    stream = {"rows": 1324, "results": dict.fromkeys(competitors(1), result)}
    *_, first, last = page.over_time(stream).splitlines()
    assert first.split(" | ")[:2] == ["| 100 to 1,100", "100.0"]
    assert last.split(" | ")[:2] == ["| 1,100 to 1,324", "50.0"]


def test_gap_to_the_median_guess_has_an_error() -> None:
    results = {name: {"sgd": [float(i), i + 2.0]} for i, name in enumerate(page.GUESSES)}
    results[DEFAULT] = {"sgd": [20.0, 20.0]}
    gap, noise = page.gap_to_median({"results": results})
    assert gap == 20.0 - 13.0
    assert noise == pytest.approx(math.sqrt(2) / math.sqrt(2))
