"""Hints of ``driftsieve screen``: one line each, where they apply, and none on plain rows."""

import json
import re

import numpy as np
import pytest

from driftsieve.bank import Bank
from driftsieve.batch import Batch
from driftsieve.cli.hints import hints
from driftsieve.cli.neighbours import Neighbours
from driftsieve.scores import t
from driftsieve.scores.reader import certificate


def write(path, X, y, **columns):
    names = [*columns, *(f"f{j}" for j in range(X.shape[1])), "y"]
    rows = zip(*columns.values(), *X.round(6).T.tolist(), y.tolist(), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def plain(seed, n=4000, p=8):
    """Independent rows in which one feature is relevant; each class has 10 % or more."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(2 + seed % 3, 20.0))
    y = rng.choice(len(shares), n, p=shares)
    return rng.normal(size=(n, p)) + np.outer(y, np.eye(p)[0]), y


def autocorrelated(n, rho, rng, size=()):
    """A first-order autoregression with variance 1."""
    x = rng.normal(size=(n, *size))
    for i in range(1, n):
        x[i] = rho * x[i - 1] + np.sqrt(1 - rho**2) * x[i]
    return x


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("half_life", ["auto", "none"])
def test_no_hint_on_plain_rows(call, folder, seed, half_life):
    X, y = plain(seed)
    if seed % 2:  # relevance and values may drift
        X += np.linspace(0, 2, len(y))[:, None]
        X[2000:] = X[2000:, ::-1]
    path = write(folder / "rows.csv", X, y)
    code, _, err = call("screen", path, "--target", "y", "--half-life", half_life)
    assert (code, err) == (0, "")


def test_a_class_too_rare_for_epsilon_gets_a_hint(call, folder):
    rng = np.random.default_rng(0)
    y = (rng.random(20_000) < 0.006).astype(int)
    path = write(folder / "rows.csv", rng.normal(size=(20_000, 2)), y)
    options = ["screen", path, "--target", "y", "--half-life", "none"]
    err = call(*options).err
    assert err.startswith("Hint: class 1 has 0.")
    assert err.count("\n") == 1
    assert "pass --epsilon 0.001 for finer scores" in err
    assert call(*options, "--epsilon", "0.001").err == ""
    assert json.loads(call(*options, "--json").out)["hints"] == [err.strip()]


def test_classes_with_few_effective_rows_get_a_hint(call, folder):
    X, y = plain(0)
    y[:5] = 9
    path = write(folder / "rows.csv", X, y)
    options = ["screen", path, "--target", "y"]
    assert "few effective rows: 9 (5). " in call(*options, "--half-life", "none").err
    y[:300] = 9  # long ago
    write(path, X, y)
    assert call(*options, "--half-life", "none").err == ""
    assert "few effective rows: 9 (" in call(*options, "--half-life", "300").err


def test_rows_sorted_by_the_label_get_a_hint(call, folder):
    X, y = plain(0)
    path = write(folder / "rows.csv", X, np.sort(y))
    options = ["screen", path, "--target", "y", "--batch-size", "999"]
    assert "Hint: the rows are sorted by the label" in call(*options, "--half-life", "500").err
    assert "sorted" not in call(*options, "--half-life", "none").err


def test_autocorrelated_rows_get_a_hint(call, folder):
    rng = np.random.default_rng(0)
    X = autocorrelated(4000, 0.9, rng, (3,))
    y = (autocorrelated(4000, 0.9, rng) > 0).astype(int)
    options = ["screen", folder / "rows.csv", "--target", "y"]
    write(folder / "rows.csv", X, y)
    code, out, err = call(*options)
    assert code == 0
    assert "autocorrelation 0.7" in err
    assert "p-values are too small" in err
    assert "shuffled" not in out
    write(folder / "rows.csv", X, rng.permutation(y))  # harmless: the label has none
    assert call(*options).err == ""


def test_rows_that_count_as_one_are_the_design_effect_of_t():
    """The square of T of independent noise is 1 on average."""
    rng = np.random.default_rng(1)
    X = autocorrelated(4000, 0.8, rng, (1000,))
    y = (rng.random(4000) < 0.1).cumsum() % 2  # its autocorrelation is 0.8, too
    bank, neighbours = Bank(quantiles=False).update(X, y), Neighbours()
    neighbours.take(Batch.of(X, y))
    (hint,) = hints(bank, certificate(bank), neighbours, has_history=False)
    count = float(re.search(r"about ([\d.]+) of them count as one", hint)[1])
    assert count == pytest.approx(np.mean(t(bank.snapshot()) ** 2), rel=0.1)


def test_hints_for_unordered_times_and_shuffled_rows(call, folder):
    X, y = plain(1)
    times = np.arange(len(y))
    options = ["screen", folder / "rows.csv", "--target", "y"]
    write(folder / "rows.csv", X, y, t=times.tolist())
    assert call(*options, "--time", "t").err == ""
    # Independent rows without drift look shuffled, whatever their order.
    assert "gains nothing. The rows look shuffled." in call(*options, "--drop", "t").out
    shuffled = np.random.default_rng(0).permutation(times)
    write(folder / "rows.csv", X, y, t=shuffled.tolist())
    assert "Hint: the rows look shuffled: 51 % are" in call(*options, "--time", "t").err
    assert call(*options, "--time", "t", "--half-life", "none").err == ""


def test_rows_that_drift_do_not_look_shuffled(call, folder):
    for p, drift in ((6, "drifts strongly"), (8, "hardly drifts")):  # by the best one, or two
        X, y = plain(0, p=p)
        X[2000:] = X[2000:, ::-1]
        write(folder / "rows.csv", X, y)
        out = call("screen", folder / "rows.csv", "--target", "y").out
        assert f"stream {drift}" in out
        assert "shuffled" not in out


def test_top_above_the_number_of_features_lists_all(call, stream):
    options = ["screen", stream, "--target", "kind", "--half-life", "none"]
    assert call(*options).err == ""  # not requested
    assert call(*options, "--top", 5).err == ""
    assert call(*options, "--top", 50).err == "--top 50: all 5 features are listed.\n"
    options[-1] = "auto"
    assert "the best quarter counts as selected" in call(*options, "--top", 50).err


def test_scores_have_the_digits_that_the_rank_errors_support(call, folder):
    X, y = plain(0)
    X[:, 1] = X[:, 1].round()
    path = write(folder / "rows.csv", X, y)
    options = ["screen", path, "--target", "y", "--half-life", "none"]
    digits = {}
    for name, more in {
        "coarse": [],
        "fine": ["--epsilon", "0.0001"],
        "t": ["--score-func", "t"],
    }.items():
        rows = [line.split() for line in call(*options, *more).out.splitlines()[1:9]]
        digits[name] = {row[1]: len(row[2].replace(".", "").strip("0")) for row in rows}
    assert digits["coarse"]["f0"] <= 3
    assert digits["coarse"]["f1"] >= 5  # few values: exact
    assert digits["fine"]["f0"] >= 5
    assert digits["t"]["f0"] >= 5


def test_batches_do_not_change_autocorrelation_much():
    rng = np.random.default_rng(0)
    x = autocorrelated(8000, 0.6, rng)
    y = (x > 0).astype(int)
    found = []
    for size in (8000, 400):
        neighbours = Neighbours()
        for start in range(0, 8000, size):
            rows = slice(start, start + size)
            neighbours.take(Batch.of(x[rows, None], y[rows]))
        found.append([neighbours.columns[0], neighbours.label])
    np.testing.assert_allclose(found[0], found[1], atol=0.02)
    assert found[0][0] == pytest.approx(0.6, abs=0.03)
    assert found[0][1] == pytest.approx(2 / np.pi * np.arcsin(0.6), abs=0.03)
