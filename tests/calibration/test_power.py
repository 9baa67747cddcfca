"""A true shift is found if a t-test of the present rows finds it."""

import pytest

from .power import BY_HAND, STREAMS, power


@pytest.mark.parametrize("title", [title for title in STREAMS if "20 classes" not in title])
def test_a_shift_is_found_where_a_test_by_hand_finds_it(title):
    found = power(STREAMS[title], 200)
    assert 0.6 < found[BY_HAND] < 0.95
    assert found["fisher"] > found[BY_HAND] - 0.1
    assert found["t"] > found[BY_HAND] - 0.2  # the larger of two p-values
    assert found["chi2"] == found["mutual_info"] > found[BY_HAND] / 2.5  # five bins have less power
