"""The ``repr`` of public objects is one short line with what matters."""

import numpy as np

import driftsieve as ds
from driftsieve.memory import LearnedBank

X = np.random.default_rng(0).normal(size=(1000, 8))
Y = np.where(X[:, 2] > 0, "spam", "ham")


def test_repr_of_a_bank_has_its_sizes_and_settings() -> None:
    bank = ds.Bank(half_life=[100, None]).update(X, Y)
    assert repr(bank) == (
        "<driftsieve.Bank: 1000 rows, 8 features, 2 classes, epsilon=0.01, half_life=(100.0, inf), "
        "clock='row'>"
    )


def test_repr_of_a_learned_bank_and_its_memory() -> None:
    bank = LearnedBank("t", half_life=[100, None]).update(X, Y)
    assert repr(bank) == (
        "<driftsieve.memory.LearnedBank: 1000 rows, 8 features, 2 classes, score_func='t', "
        "half_life=(100.0, inf), clock='row'>"
    )
    assert "score_func='a function', half_life='auto'" in repr(LearnedBank(ds.scores.t))
    empty = LearnedBank("t").memory
    assert repr(empty) == "<driftsieve.memory.Memory: about 0 rows, gain nan, 0 reviews>"
    assert str(empty) == "Memory: about 0 rows. There are too few rows to learn from."


def test_repr_of_a_batch_and_a_snapshot() -> None:
    batch = ds.Batch.of(X, Y)
    assert repr(batch) == "<driftsieve.Batch: 1000 dense rows, 8 features>"
    assert repr(ds.Bank(quantiles=False).update(batch).snapshot()) == (
        "<driftsieve.Snapshot: 8 features, 2 classes, weight 1000, moments>"
    )


def test_repr_of_a_history() -> None:
    history = ds.ScoreHistory("t", k=1)
    history.record(1000, [0.5, 2.5])
    assert repr(history) == "<driftsieve.ScoreHistory: t, 1 records of 2 features, 1 events>"


def test_repr_of_a_screener_has_the_parameters_that_were_set() -> None:
    assert repr(ds.FeatureScreener("t", k=3)) == "FeatureScreener(k=3, score_func='t')"
