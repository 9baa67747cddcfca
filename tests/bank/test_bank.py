"""Refused input leaves a bank unchanged; edge cases."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve.batch import Batch

FORMS = [np.asarray, sparse.csr_array]
X = np.arange(12.0).reshape(4, 3) % 5
Y = [0, 1, 0, 1]
NAN, INF = np.nan, np.inf


def with_value(value: float) -> Any:
    changed = X.copy()
    changed[2, 1] = value
    return changed


BAD_ROWS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "lengths": ({"X": X, "y": [0, 1]}, ValueError, "inconsistent numbers of samples"),
    "nan": ({"X": with_value(NAN), "y": Y}, ValueError, "row 2.*column 1"),
    "infinity": ({"X": with_value(INF), "y": Y}, ValueError, "row 2.*column 1"),
    "minus infinity": ({"X": with_value(-INF), "y": Y}, ValueError, "row 2.*column 1"),
    "complex": ({"X": X * 1j, "y": Y}, (TypeError, ValueError), "[Cc]omplex"),
    "negative weight": ({"X": X, "y": Y, "sample_weight": [1, -1, 1, 1]}, ValueError, "weight"),
    "weight nan": ({"X": X, "y": Y, "sample_weight": [1, 1, NAN, 1]}, ValueError, "weight"),
    "weight inf": ({"X": X, "y": Y, "sample_weight": [1, 1, INF, 1]}, ValueError, "weight"),
    "weights": ({"X": X, "y": Y, "sample_weight": [1, 1]}, ValueError, "weight"),
    "unused times": ({"X": X, "y": Y, "time": [1, 2, 3, 4]}, ValueError, 'clock="time"'),
    "other labels": (
        {"X": X, "y": ["a", "b", "a", "b"]},
        ValueError,
        "integers, as in earlier",
    ),
    "labels of two types": ({"X": X, "y": [0, 1, 2**63 + 5, -1]}, ValueError, "got -1 to 92233"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_change_nothing(case: str, form: Callable[..., Any]) -> None:
    arguments, error, message = BAD_ROWS[case]
    bank = ds.Bank().update(form(X), Y)
    before = bank.to_bytes()
    with pytest.raises(error, match=message):
        bank.update(**{**arguments, "X": form(arguments["X"])})
    assert bank.to_bytes() == before


@pytest.mark.parametrize("form", FORMS)
def test_labels_that_no_type_of_integers_holds_are_refused(form: Callable[..., Any]) -> None:
    bank = ds.Bank().update(form(X), np.array([0, 1, 0, 2**63 + 5], dtype=np.uint64))
    assert bank.classes.tolist() == [0, 1, 2**63 + 5]
    before = bank.to_bytes()
    other = ds.Bank().update(form(X), [0, -1, 0, 1])
    for take in (lambda: bank.update(form(X), [-1, 0, 0, 1]), lambda: bank.merge(other)):
        with pytest.raises(ValueError, match=f"got -1 to {2**63 + 5}. Number"):
            take()
        assert bank.to_bytes() == before
    assert ds.Bank.from_bytes(before).classes.tolist() == [0, 1, 2**63 + 5]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("known", [0, 4])
def test_text_that_is_not_unicode_is_rejected_before_an_update(form: Any, known: int) -> None:
    """No state could hold half of a surrogate pair."""
    bank = ds.Bank().update(form(X[:known]), list("abab")[:known])
    before = bank.to_bytes()
    with pytest.raises(ValueError, match=r"Labels must be valid Unicode, got 'half \\ud800'"):
        bank.update(form(X), ["a", "half \ud800", "a", "b"])
    batch = Batch.of(form(X), list("abab"), feature_names=["p", "q", "\udcff"])
    with pytest.raises(ValueError, match=r"Feature names must be valid Unicode, got '\\udcff'"):
        bank.update(batch)
    assert bank.to_bytes() == before


def test_arguments_of_the_wrong_type_are_named() -> None:
    bank: Any = ds.Bank().update(X, Y)
    with pytest.raises(TypeError, match="y must be given with X"):
        bank.update((X, Y))
    for use in (bank.cut, lambda features: bank.snapshot(features=features)):
        with pytest.raises(TypeError, match=r"features must be a slice, .* got \[0\]"):
            use([0])
    with pytest.raises(TypeError, match="start must be a number, got 'x'"):
        bank.merge(ds.Bank().update(X, Y), start="x")


def test_epsilon_has_the_same_range_in_bytes() -> None:
    with pytest.raises(ValueError, match=r"at least 1e-8 .*, got 9e-09"):
        ds.Bank(9e-9)
    stored = ds.Bank(1e-8).update(X, Y).to_bytes()
    assert ds.Bank.from_bytes(stored).epsilon == 1e-8


@pytest.mark.parametrize("bad", [np.array([[object()] * 3] * 4), np.array([["a"] * 3] * 4)])
def test_non_numeric_value_changes_nothing(bad: Any) -> None:
    bank = ds.Bank().update(X, Y)
    before = bank.to_bytes()
    with pytest.raises((TypeError, ValueError)):
        bank.update(bad, Y)
    assert bank.to_bytes() == before


def test_a_dense_bank_has_one_width() -> None:
    bank = ds.Bank().update(X, Y)
    before = bank.to_bytes()
    for form in FORMS:
        for width in (2, 4):
            with pytest.raises(ValueError, match=f"X has {width} features, but 3 features were"):
                bank.update(form(np.ones((4, width))), Y)
    assert bank.to_bytes() == before


def test_a_sparse_bank_accepts_wider_and_narrower_rows() -> None:
    bank = ds.Bank().update(sparse.csr_array(X), Y)
    bank.update(sparse.csr_array(np.ones((1, 5))), [1]).update(sparse.csr_array([[7.0]]), [0])
    whole = np.vstack([np.pad(X, ((0, 0), (0, 2))), np.ones((1, 5)), [[7.0, 0, 0, 0, 0]]])
    expected = ds.offline.snapshot(whole, [*Y, 1, 0])
    assert bank.n_features == 5
    assert_array_equal(bank.snapshot().bin_weights, expected.bin_weights)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("t", [None, [1, 2, NAN, 4], [1, 2, INF, 4], [1, 2]])
def test_the_time_clock_needs_a_time_for_every_row(t: Any, form: Callable[..., Any]) -> None:
    bank = ds.Bank(clock="time", half_life=2.0).update(form(X), Y, time=[1.0, 2, 3, 4])
    before = bank.to_bytes()
    with pytest.raises(ValueError, match=r"time|\bt\b"):
        bank.update(form(X), Y, time=t)
    assert bank.to_bytes() == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({"epsilon": e}, "epsilon must be") for e in (0.0, 0.5, -0.1, 1.0, NAN)),
        *(({"decay": a}, "decay must be") for a in (0.0, 1.5, -1.0, NAN)),
        *(({"half_life": h}, "half_life must be") for h in (0.0, -3.0, NAN)),
        ({"decay": 0.9, "half_life": 3.0}, "half_life"),
        ({"moments": False, "quantiles": False}, "moments or quantiles must be True"),
        ({"clock": "sundial"}, "clock must be"),
        ({"missing": "drop"}, "missing must be"),
    ],
)
def test_invalid_settings_are_an_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ds.Bank(**settings)


@pytest.mark.parametrize("y", [[], [3, 3, 3, 3]])
@pytest.mark.parametrize("score", ds.scores.SCORES)
def test_scoring_needs_two_classes(score: str, y: list[int]) -> None:
    snapshot = ds.Bank().update(X[: len(y)], y).snapshot()
    with pytest.raises(ValueError, match="class"):
        ds.scores.SCORES[score].function(snapshot)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 0.02},
        {"clock": "batch"},
        {"half_life": 9.0},
        {"missing": "ignore"},
        {"moments": False},
        {"quantiles": False},
    ],
)
def test_banks_of_other_settings_do_not_merge(
    other: dict[str, Any], form: Callable[..., Any]
) -> None:
    ours, theirs = ds.Bank().update(form(X), Y), ds.Bank(**other).update(form(X), Y)
    before = ours.to_bytes(), theirs.to_bytes()
    with pytest.raises(ValueError, match=f"Banks must have the same {next(iter(other))}"):
        ours.merge(theirs)
    assert (ours.to_bytes(), theirs.to_bytes()) == before
    with pytest.raises(TypeError, match="other must be a Bank"):
        ours.merge("bank")  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMS)
def test_damaged_bytes_are_refused(form: Callable[..., Any]) -> None:
    data = ds.Bank().update(form(X), Y).to_bytes()
    for end in range(len(data)):
        with pytest.raises(ValueError, match="bytes"):
            ds.Bank.from_bytes(data[:end])
    for at in range(len(data)):
        flipped = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        with pytest.raises(ValueError, match="bytes"):
            ds.Bank.from_bytes(flipped)
    newer = data[:8] + struct.pack("<I", 4) + data[12:]
    with pytest.raises(ValueError, match=r"version .* got 4\. Upgrade driftsieve"):
        ds.Bank.from_bytes(newer)


@pytest.mark.parametrize("form", FORMS)
def test_bytes_that_are_cut_short_before_they_are_sealed_are_refused(
    form: Callable[..., Any],
) -> None:
    """The checksum is right: the payload itself must be found wanting."""
    data = ds.Bank().update(form(X), Y).to_bytes()
    payload_at = 24 + struct.unpack_from("<Q", data, 16)[0]
    for end in range(payload_at, len(data)):
        sealed = data[:12] + struct.pack("<I", zlib.crc32(data[16:end])) + data[16:end]
        with pytest.raises(ValueError, match="bytes"):
            ds.Bank.from_bytes(sealed)


def named(x: Any, names: tuple[str, ...]) -> Batch:
    return Batch.of(sparse.csr_array(x), [0, 1], feature_names=names)


def test_names_cover_all_columns_or_none() -> None:
    two, three = [[1.0, 2.0], [0.0, 1.0]], sparse.csr_array([[1.0, 2, 3], [0, 1, 0]])
    with_names = ds.Bank().update(named(two, ("a", "b")))
    without = ds.Bank().update(three, [0, 1])
    for bank, batch in (
        (with_names, Batch.of(three, [0, 1])),
        (without, named(two, ("a", "b"))),
    ):
        before = bank.to_bytes()
        with pytest.raises(
            ValueError, match="Feature names must be given for all 3 columns, got 2"
        ):
            bank.update(batch)
        assert bank.to_bytes() == before
        assert ds.Bank.from_bytes(before).to_bytes() == before
    with pytest.raises(ValueError, match="column 1 was 'b' and is 'c'"):
        with_names.update(named(two, ("a", "c")))


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_without_rows_sets_the_columns_and_is_no_tick(form: Callable[..., Any]) -> None:
    bank = ds.Bank().update(form(np.empty((0, 3))), [])
    assert (bank.now, bank.n_rows, bank.n_features) == (None, 0, 3)
    assert len(bank.classes) == 0
    bank.update(form(X), Y)
    assert bank.now == 3
    assert bank.update(form(np.empty((0, 3))), []).now == 3
