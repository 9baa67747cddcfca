"""The dictionaries, values and labels that are accepted."""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np
import pytest

from driftsieve import offline
from river_rows import learned, rows_of, states


def test_rows_may_be_any_mapping_of_numbers():
    class Words(dict):
        pass

    plain = learned([{"a": 1.0, "b": 0.5}, {"a": 0.0, "b": 2.0}] * 20, [0, 1] * 20)
    holes = {"c": 9.0, "a": 0.0, "b": 2.0}
    del holes["c"]
    other = "".join(["a"])  # an equal key that is another object
    odd = [
        {"a": 1, "b": np.float32(0.5)},
        holes,
        OrderedDict(b=0.5, a=True),
        Words(b=np.float64(2.0), a=np.int64(0)),
        {other: 1.0, "b": 0.5},
        {"a": False, "b": 2},
    ]
    screener = learned((odd * 7)[:40], [0, 1] * 20)
    assert states(screener) == states(plain)
    numbered = learned([{0: 1.0, 1: 0.5}, {0: 0.0, 1: 2.0}] * 20, [0, 1] * 20)
    assert list(numbered.scores.values()) == list(plain.scores.values())


def test_many_keys_that_repeat_in_changing_order():
    rng = np.random.default_rng(4)
    keys = [f"k{i:03}" for i in range(700)]  # more than 256: a wider table within the dictionary
    X = rng.normal(size=(60, 700))
    rows = [dict(zip(keys, row, strict=True)) for row in X.tolist()]
    for i in (20, 21, 40):
        order = rng.permutation(700)
        rows[i] = {keys[j]: rows[i][keys[j]] for j in order}
    labels = [i % 2 for i in range(60)]
    screener = learned(rows, labels, score_func="t")
    np.testing.assert_allclose(
        list(screener.scores.values()), offline.scores(X, labels, "t"), rtol=1e-9
    )


@pytest.mark.parametrize("at", range(20))
def test_unusual_value_is_found_in_any_row(at):
    """Entries that are as in the row before are read eight at once."""
    keys = [f"k{i:02}" for i in range(20)]
    plain = [{key: i + j / 7 for j, key in enumerate(keys)} for i in range(6)]
    key = keys[at]
    odd = [dict(row) for row in plain]
    odd[1][key] = np.float64(odd[1][key])
    odd[2] = {"".join([k]) if k == key else k: v for k, v in odd[2].items()}
    odd[3][key] = odd[3].pop(key)
    plain[4][key] = odd[4][key] = -1e308
    plain[5][key], odd[5][key] = 3.0, 3
    screener = learned(odd, [0, 1] * 3, score_func="t")
    assert states(screener) == states(learned(plain, [0, 1] * 3, score_func="t"))
    before = states(screener)
    for bad in (math.nan, math.inf, -math.inf, None, object()):
        with pytest.raises((ValueError, TypeError), match=f"'{key}'"):
            screener.learn_one(plain[0] | {key: bad}, 0)
    assert states(screener) == before


def test_keys_that_are_new_objects_in_every_row_are_recognised():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50, 300))
    labels = [i % 2 for i in range(50)]
    expected = offline.scores(X, labels, "t")
    makers = [str, lambda j: j - 150, lambda j: 2**70 + j, lambda j: (j,), lambda j: f"ж{j}"]
    for make in makers:
        rows = [{make(j): value for j, value in enumerate(row)} for row in X.tolist()]
        screener = learned(rows, labels, score_func="t")
        found = [screener.scores[make(j)] for j in range(300)]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_dictionaries_of_objects_share_their_keys_and_are_read_alike():
    class Thing:
        def __init__(self, a, b):
            self.a, self.b = a, b

    rows = [Thing(float(i % 5), float(i % 3)) for i in range(40)]
    screener = learned([vars(row) for row in rows], [0, 1] * 20)
    plain = learned([dict(vars(row)) for row in rows], [0, 1] * 20)
    assert states(screener) == states(plain)


def test_a_row_that_changes_while_it_is_read():
    class Sly:
        def __init__(self, row):
            self.row = row

        def __float__(self):
            for i in range(1000):
                self.row[f"more{i}"] = 0.0
            return 1.0

    screener = learned([{"a": 0.0, "b": 1.0, "c": 2.0}] * 4, [0, 1] * 2)
    before = states(screener)
    row = {"a": 1.0}
    row |= {"b": Sly(row), "c": 3.0}
    with pytest.raises(RuntimeError, match="x must not change while it is read"):
        screener.learn_one(row, 0)
    assert states(screener) == before


@pytest.mark.parametrize(
    "act",
    [lambda s: s.learn_one({"a": 5.0, "b": 5.0}, 1), lambda s: s.scores],
    ids=["learn", "read"],
)
def test_a_value_that_uses_the_screener_while_it_is_read(act):
    class Meddler:
        def __float__(self):
            with pytest.raises(RuntimeError, match="while another one is read"):
                act(screener)
            return 1.0

    rows, labels = [{"a": 0.0, "b": 1.0}] * 4, [0, 1] * 2
    screener = learned(rows, labels)
    screener.learn_one({"a": 1.0, "b": Meddler()}, 0)
    assert states(screener) == states(learned([*rows, {"a": 1.0, "b": 1.0}], [*labels, 0]))


@pytest.mark.parametrize(
    "labels", [[1.5, 2.5], [("a", 1), ("b", 2)], ["x", 3], [True, False], [np.bool_(0), 1]]
)
def test_labels_can_be_any_hashable_object(labels):
    rows, _ = rows_of(40)
    screener = learned(rows, labels * 20)
    plain = learned(rows, [0, 1] * 20)
    assert screener.scores == plain.scores


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_none_is_missing_where_nan_is(absent):
    rows, labels = rows_of(200)
    for i, x in enumerate(rows):
        x[("a", "late", "new")[i % 3]] = None  # among them keys that are not known yet
    nans = [{key: np.nan if v is None else v for key, v in x.items()} for x in rows]
    by_none, by_nan = (learned(r, labels, absent=absent, missing="ignore") for r in (rows, nans))
    assert states(by_none) == states(by_nan)


def test_rows_without_keys_are_learned():
    for absent in ("zero", "missing"):
        screener = learned([{}, {}, {"a": 1.0}, {"a": 2.0}], [0, 1, 0, 1], absent=absent, k=1)
        assert screener.transform_one({"a": 1.0}) == {"a": 1.0}
        assert learned([{}, {}], [0, 1], absent=absent).transform_one({"b": 1.0}) == {}
