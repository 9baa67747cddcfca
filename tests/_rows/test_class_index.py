"""ClassIndex: labels are numbered in the order of the rows, by any of its paths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftsieve._rows.class_index import ClassIndex


@given(
    st.lists(st.integers(-3, 12), min_size=1, max_size=400),
    st.lists(st.integers(0, 400), max_size=3),
    st.sampled_from([np.int64, np.str_]),
)
def test_numbers_follow_the_first_appearance_in_any_batches(labels, cuts, kind):
    y = np.array(labels).astype(kind)
    first = list(dict.fromkeys(y.tolist()))
    index, numbers = ClassIndex(), []
    for part in np.split(y, sorted(cuts)):
        found, index = index.encode(part)
        numbers += found.tolist()
    assert index.values == first
    assert numbers == [first.index(label) for label in y.tolist()]


def test_an_index_is_not_changed_by_encoding():
    index = ClassIndex().encode(np.array(["ham", "spam"]))[1]
    numbers, grown = index.encode(np.array(["eggs", "ham"]))
    assert numbers.tolist() == [2, 0]
    assert (index.values, grown.values) == (["ham", "spam"], ["ham", "spam", "eggs"])
    assert grown.first(2).values == index.values


def test_union_numbers_the_labels_of_the_other_index():
    one, other = (ClassIndex().encode(np.array(y))[1] for y in ([5, 2], [9, 5]))
    numbers, both = one.union(other)
    assert (numbers.tolist(), both.values) == ([2, 0], [5, 2, 9])


def test_sorted_gives_the_place_of_each_number():
    labels, place = ClassIndex([5, 2, 9], "integers").sorted()
    assert (labels.tolist(), place.tolist()) == ([2, 5, 9], [1, 0, 2])


def test_labels_of_another_kind_are_an_error():
    with pytest.raises(ValueError, match="Labels must be strings, as in earlier rows, got integ"):
        ClassIndex(["ham"], "strings").encode(np.array([1]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"ham": 0}, "strings"),
        (["ham", "ham"], "strings"),
        (["ham", 1], "strings"),
        ([True], "integers"),
        ([1], "floats"),
        (["ham\0"], "strings"),
        ([2**70], "integers"),
    ],
)
def test_invalid_stored_labels_are_an_error(values, kind):
    with pytest.raises(ValueError):
        ClassIndex.restored(values, kind)
