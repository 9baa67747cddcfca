"""dask arrays and data frames, on threads."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from engine_rows import Rows, assert_scores, assert_within_epsilon, chunks, rows
from numpy.testing import assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve.distributed.dask import screen
from driftsieve.scores import SCORES

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")


def array(data: Rows, row_chunks: Any = 100, column_chunks: Any = 8) -> Any:
    return da.from_array(data.X, chunks=(row_chunks, column_chunks))


def sparse_array(data: Rows, row_chunks: Any) -> Any:
    return array(data, row_chunks).map_blocks(
        sparse.csr_array, dtype=float, meta=sparse.csr_array((0, 0))
    )


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_any_chunks_give_the_result_of_one_bank(score: str, seed: int) -> None:
    data = rows(seed)
    cut = chunks(seed, 400)
    blocks = 1 + seed  # of features
    exact = {"score_func": score, "epsilon": 0.001}
    dense = screen(array(data, cut), data.y, block_size=blocks, **exact)
    assert_scores(dense, data, **exact)
    assert_array_equal(dense["feature"], np.arange(8))
    assert_scores(screen(sparse_array(data, cut), data.y, **exact), data, **exact)
    columns = array(data, cut, (3, 4, 1))
    assert_scores(screen(columns, da.from_array(data.y), **exact), data, **exact)


def test_many_chunks_merge_in_a_tree() -> None:
    data = rows(3)
    assert_scores(screen(array(data, 4), data.y, score_func="fisher"), data, "fisher")


def test_empty_chunks_have_no_effect() -> None:
    data = rows(4)
    X = array(data, (0, 150, 0, 250, 0))
    for x in (X, sparse_array(data, X.chunks[0])):
        found = screen(x, data.y, epsilon=0.001)
        assert_scores(found, data, "mutual_info", epsilon=0.001)


@pytest.mark.parametrize("sparse_chunks", [False, True])
@pytest.mark.parametrize("score", ["t", "chi2"])
def test_rows_fade_by_their_place(score: str, sparse_chunks: bool) -> None:
    data = rows(5)
    cut = chunks(5, 400)
    X = sparse_array(data, cut) if sparse_chunks else array(data, cut)
    fade = {"half_life": 60.0, "epsilon": 0.001}
    found = screen(X, data.y, sample_weight=data.weight, score_func=score, block_size=3, **fade)
    one = sparse.csr_array(data.X) if sparse_chunks else data.X  # p-values of sparse rows differ
    assert_scores(found, data, score, weight=data.weight, X=one, **fade)


@pytest.mark.parametrize("sparse_chunks", [False, True])
def test_several_half_lives_give_a_table_of_each(sparse_chunks: bool) -> None:
    data = rows(6)
    X = sparse_array(data, 100) if sparse_chunks else array(data, 100, 3)
    table = screen(X, data.y, half_life=[50, None], epsilon=0.001, block_size=2)
    assert [*table] == ["half_life", "feature", "score", "pvalue", "rank"]
    for half_life, found in table.groupby("half_life"):
        alone = screen(X, data.y, half_life=half_life, epsilon=0.001)
        ours = found.drop(columns="half_life").reset_index(drop=True)
        pd.testing.assert_frame_equal(ours, alone, rtol=1e-9)
    assert sorted(set(table["half_life"])) == [50.0, np.inf]


def test_rows_fade_by_their_time_in_any_order() -> None:
    data = rows(6)
    fade = {"half_life": 9.0, "epsilon": 0.001}
    found = screen(
        array(data, chunks(6, 400)), data.y, time=data.time, score_func="mutual_info", **fade
    )
    assert_scores(found, data, "mutual_info", time=data.time, clock="time", **fade)
    shuffled = np.random.default_rng(0).permutation(400)
    again = screen(
        da.from_array(data.X[shuffled], chunks=(70, 8)),
        data.y[shuffled],
        time=data.time[shuffled],
        score_func="mutual_info",
        **fade,
    )
    assert_scores(again, data, "mutual_info", time=data.time, clock="time", **fade)


def test_rows_fade_by_dates_and_a_duration() -> None:
    data = rows(6)
    dates = np.datetime64("2024-01-01") + data.time.astype("timedelta64[D]")
    options = {"time": dates, "score_func": "t", "epsilon": 0.001}
    found = screen(array(data, chunks(6, 400)), data.y, half_life="9d", **options)
    days = data.time.astype(int).astype(float)
    assert_scores(found, data, "t", time=days, clock="time", half_life=9.0, epsilon=0.001)
    with pytest.raises(ValueError, match="half_life must be a duration where times are dates"):
        screen(array(data, chunks(6, 400)), data.y, half_life=9.0, **options)


def test_a_chunk_is_a_tick_of_the_batch_clock() -> None:
    data = rows(7)
    found = screen(array(data, 100), data.y, score_func="t", clock="batch", half_life=1.5)
    age = 3 - np.arange(400) // 100
    assert_scores(found, data, "t", weight=0.5 ** (age / 1.5))


def test_labels_of_text_may_come_in_any_container() -> None:
    data = rows(8)
    text = np.where(data.y == data.y[0], "no", "yes")
    expected = screen(array(data), text, score_func="t")["score"]
    containers = [
        list,
        lambda y: y.astype(object),
        pd.Series,
        lambda y: pd.Series(pd.Categorical(y)),
    ]
    for labels in (container(text) for container in containers):
        assert_array_equal(screen(array(data), labels, score_func="t")["score"], expected)


def test_data_frames_keep_their_names() -> None:
    data = rows(8)
    names = list("abcdefgh")
    frame = pd.DataFrame(data.X, columns=names)
    frame["label"], frame["when"], frame["w"] = data.y, data.time, data.weight
    ddf = dd.from_pandas(frame, npartitions=3)
    options = {"sample_weight": "w", "time": "when", "half_life": 9.0, "epsilon": 0.001}
    found = screen(ddf, "label", **options)
    assert list(found["feature"]) == names
    assert_scores(
        found,
        data,
        "mutual_info",
        weight=data.weight,
        time=data.time,
        clock="time",
        half_life=9.0,
        epsilon=0.001,
    )
    apart = screen(ddf[names], ddf["label"], score_func="t")
    assert_scores(apart, data, "t")
    assert screen(ddf[names], ddf["label"], as_bank=True).feature_names == tuple(names)


@pytest.mark.parametrize("container", [np.asarray, list])
def test_rows_of_a_frame_may_have_labels_in_memory(container: Any) -> None:
    data = rows(10)
    X = dd.from_pandas(pd.DataFrame(data.X), npartitions=3)
    exact = {"half_life": 9.0, "epsilon": 0.001}
    kept = X[X[1] > -1.0]  # an empty or shorter partition is counted too
    part = data.X[:, 1] > -1.0
    found = screen(kept, container(data.y[part]), time=data.time[part], **exact)
    some = Rows(data.X[part], data.y[part], data.weight, data.time)
    assert_scores(found, some, "mutual_info", time=data.time[part], clock="time", **exact)
    unknown = kept.to_dask_array()  # an array whose chunks have unknown lengths
    found = screen(unknown, container(data.y[part]), score_func="t")
    assert_scores(found, some, "t")
    message = f"X has {part.sum()} rows, y has 400"
    for collection in (kept, unknown):
        with pytest.raises(ValueError, match=message):
            screen(collection, container(data.y))
    with pytest.raises(TypeError, match=r"got a pandas Series\. .* pass y\.to_numpy\(\) if"):
        screen(X, pd.Series(data.y))


@pytest.mark.parametrize("sparse_chunks", [False, True])
@pytest.mark.parametrize("score", ["fisher", "gini"])
def test_chunks_without_values_of_a_column_or_a_class(score: str, sparse_chunks: bool) -> None:
    data = rows(11)
    data.X[:150, 0] = data.X[150:, 1] = np.nan
    cut = (150, 0, 247, 3)  # the last one alone has the class "rare"
    X = sparse_array(data, cut) if sparse_chunks else array(data, cut)
    options = {"score_func": score, "epsilon": 0.001, "missing": "ignore"}
    assert_scores(screen(X, data.y, block_size=3, **options), data, **options)


def test_the_merged_bank_can_be_updated() -> None:
    data = rows(9)
    bank = screen(array(data, 90, (5, 3)), data.y, epsilon=0.001, as_bank=True)
    one = ds.Bank(epsilon=0.001).update(data.X, data.y)
    for each in (bank, one):
        each.update(data.X, data.y)
    for name in ("class_weight", "bin_weights", "edges"):
        assert_array_equal(getattr(bank.snapshot(), name), getattr(one.snapshot(), name))
    np.testing.assert_allclose(bank.snapshot().mean, one.snapshot().mean, rtol=1e-12)
    assert bank.n_threads is None


def test_pruned_banks_stay_within_epsilon() -> None:
    rng = np.random.default_rng(10)
    y = rng.integers(0, 2, 20_000)
    X = np.column_stack([rng.normal(size=20_000) + y, np.sort(rng.lognormal(size=20_000))])
    bank = screen(da.from_array(X, chunks=(1700, 2)), y, epsilon=0.05, as_bank=True)
    rank_error = bank.snapshot().rank_error
    assert rank_error is not None
    assert (rank_error > 0).all()  # something was pruned
    assert_within_epsilon(bank, X, y)


def test_bad_input_gives_the_message_of_the_core() -> None:
    data = rows(11)
    X = data.X.copy()
    X[333, 4] = np.nan
    with pytest.raises(ValueError, match=r"In chunk 3: Input X contains NaN at row 33, column 4"):
        screen(da.from_array(X, chunks=(100, 8)), data.y)
    assert np.isfinite(
        screen(da.from_array(X, chunks=(100, 8)), data.y, missing="ignore")["score"]
    ).all()
    with pytest.raises(ValueError, match="X has 400 rows, y has 399"):
        screen(array(data), data.y[:-1])
    with pytest.raises(ValueError, match="clock must be \"time\" with time, got 'row'"):
        screen(array(data), data.y, time=data.time, clock="row")
    frame, labels = pd.DataFrame(data.X), pd.Series(data.y)
    with pytest.raises(ValueError, match=r"y must have as many chunks .* of X, 3, got 2\. Repart"):
        screen(dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels, npartitions=2))
    with pytest.raises(ValueError, match="y must be a column of X, got 'label'"):
        screen(dd.from_pandas(pd.DataFrame({"a": [1.0]}), npartitions=1), "label")
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        screen(array(data)[:, 0], data.y)
    with pytest.raises(ValueError, match=r"y should be a 1d array, got an array of shape \(400, 8"):
        screen(array(data), array(data))
    with pytest.raises(TypeError, match="X must be a dask array or data frame, got ndarray"):
        screen(data.X, data.y)
    with pytest.raises(ValueError, match=r"at least 2 classes .* only one class: 'ham'"):
        screen(array(data), np.full(400, "ham"))


def declared(chunks: list[Any], shapes: list[tuple[int, int]], axis: int) -> Any:
    """Chunks with these stated shapes."""
    made = [
        da.from_delayed(dask.delayed(chunk, traverse=False), shape, float, meta=np.empty((0, 0)))
        for chunk, shape in zip(chunks, shapes, strict=True)
    ]
    return da.concatenate(made, axis=axis)


@pytest.mark.parametrize("block_size", [1, 3, 1024])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_chunks_have_as_many_columns_as_declared(kind: Any, block_size: int) -> None:
    data = rows(13)
    options = {"block_size": block_size}
    chunks = [kind(data.X[:, :5]), kind(data.X[:, 5:])]
    X = declared(chunks, [(400, 3), (400, 3)], axis=1)
    message = (
        r"In chunk \(0, 0\): X must have the 3 declared columns, got an array of shape \(400, 5\)"
    )
    with pytest.raises(ValueError, match=message):
        screen(X, data.y, **options)
    for width in (2, 6):
        chunks = [kind(data.X[:100, :4]), kind(data.X[100:, :width])]
        X = declared(chunks, [(100, 4), (300, 4)], axis=0)
        message = rf"In chunk 1: X must have the 4 declared columns, .* shape \(300, {width}\)"
        for as_bank in (False, True):
            with pytest.raises(ValueError, match=message):
                screen(X, data.y, as_bank=as_bank, **options)


@pytest.mark.parametrize("block_size", [1, 3, 1024])
def test_partitions_have_the_columns_that_are_declared(block_size: int) -> None:
    data = rows(14)
    frame = pd.DataFrame(data.X, columns=list("abcdefgh")).assign(label=data.y)

    def parts(last: Any) -> Any:
        both = [dask.delayed(frame[:150]), dask.delayed(last)]
        return dd.from_delayed(both, meta=frame[:0], verify_meta=False)

    options = {"block_size": block_size, "epsilon": 0.001}
    found = screen(parts(frame[150:][["label", *"hbcdefga"]]), "label", **options)
    assert list(found["feature"]) == list("abcdefgh")
    assert_scores(found, data, "mutual_info", epsilon=0.001)
    message = (
        r"In chunk 1: X must have the 9 declared columns, got 9 columns. Not in both: \['c', 'z'\]"
    )
    with pytest.raises(ValueError, match=message):
        screen(parts(frame[150:].rename(columns={"c": "z"})), "label", **options)
    with pytest.raises(
        ValueError, match=r"9 declared columns, got 8 columns. Not in both: \['c'\]"
    ):
        screen(parts(frame[150:].drop(columns="c")), "label", **options)


def test_without_dask_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rows(12)
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r'needs dask: pip install "driftsieve\[dask\]"'):
        screen(data.X, data.y)
