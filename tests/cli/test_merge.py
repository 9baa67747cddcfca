"""``merge``: the bank it makes of several ones, and which it refuses."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import driftsieve as ds
from driftsieve._storage import atomic
from driftsieve.cli.checkpoint import Checkpoint

from .helpers import DRIFTSIEVE


@pytest.fixture
def halves(stream, folder):
    header, *lines = stream.read_text().splitlines(keepends=True)
    for name, part in (("a", lines[:600]), ("b", lines[600:])):
        (folder / f"{name}.csv").write_text(header + "".join(part))


@pytest.mark.usefixtures("halves")
@pytest.mark.parametrize("fading", [[], ["--half-life", 100], ["--decay", 0.9, "--clock", "batch"]])
def test_merged_halves_score_as_the_whole(fading, call):
    options = [
        "--target",
        "kind",
        "--half-life",
        "none",
        "--epsilon",
        0.001,
        "--batch-size",
        100,
        *fading,
    ]
    for name in ("a", "b", "stream"):
        assert call("screen", f"{name}.csv", *options, "--state", f"{name}.dsv").code == 0
    code, out, err = call("merge", "a.dsv", "b.dsv", "-o", "c.dsv")
    assert (code, err) == (0, "")
    assert out.startswith("1,000 rows, 5 features, 2 classes (ham, spam).")
    merged = ds.Bank.from_bytes(Path("c.dsv").read_bytes())
    whole = Checkpoint.load("stream.dsv").bank
    assert merged.now == whole.now
    for score in (ds.scores.t, ds.scores.mutual_info):
        np.testing.assert_allclose(score(merged.snapshot()), score(whole.snapshot()), rtol=1e-9)


@pytest.mark.usefixtures("halves")
def test_merge_accepts_merged_banks_and_a_single_one(call):
    for name in ("a", "b"):
        arguments = [f"{name}.csv", "--target", "kind", "--state", f"{name}.dsv"]
        assert call("screen", *arguments).code == 0
    assert call("merge", "a.dsv", "-o", "one.dsv").code == 0
    assert call("merge", "one.dsv", "b.dsv", "-o", "two.dsv", "--json").code == 0
    found = json.loads(call("merge", "two.dsv", "a.dsv", "-o", "three.dsv", "--json").out)
    assert (found["rows"], found["output"]) == (1600, "three.dsv")


@pytest.mark.usefixtures("halves")
def test_merge_may_add_to_one_of_its_banks(call):
    for name in ("a", "b"):
        arguments = [
            f"{name}.csv",
            "--target",
            "kind",
            "--half-life",
            "none",
            "--state",
            f"{name}.dsv",
        ]
        assert call("screen", *arguments).code == 0
    assert call("merge", "a.dsv", "b.dsv", "-o", "apart.dsv").code == 0
    total = Path("apart.dsv").read_bytes()
    assert ds.Bank.from_bytes(total).n_rows == 1000
    for name in ("a", "b"):
        before = Path(f"{name}.dsv").read_bytes()
        assert call("merge", "a.dsv", "b.dsv", "-o", f"{name}.dsv").code == 0
        assert Path(f"{name}.dsv").read_bytes() == total
        Path(f"{name}.dsv").write_bytes(before)


@pytest.mark.usefixtures("halves")
def test_banks_of_other_settings_do_not_merge(call, folder):
    for name, half_life in (("a", 10), ("b", 20)):
        arguments = [f"{name}.csv", "--target", "kind", "--half-life", half_life]
        assert call("screen", *arguments, "--state", f"{name}.dsv").code == 0
    code, out, err = call("merge", "a.dsv", "b.dsv", "-o", "c.dsv")
    assert (code, out) == (2, "")
    assert err.startswith("driftsieve: b.dsv cannot be merged with a.dsv: Banks must have the same")
    assert not (folder / "c.dsv").exists()


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ([], ["--target", "colour"], "--target must be kind, got colour"),
        ([], ["--sample-weight", "w"], "--sample-weight must be none, got w"),
        (["--time", "w"], ["--time", "v"], "--time must be w, got v"),
        ([], ["--categorical", "v"], "--categorical must be none, got v"),
        (
            ["--categorical", "v", "--categorical", "w"],
            ["--categorical", "w"],
            "must be v,w, got w",
        ),
    ],
)
def test_states_of_other_columns_do_not_merge(one, other, reason, call, folder):
    rows = [f"{i % 5},{i % 3 + 1},{i},{'ab'[i % 2]},{'cd'[i % 2]}" for i in range(20)]
    (folder / "in.csv").write_text("\n".join(["x,v,w,colour,kind", *rows]))
    for name, more in (("a", one), ("b", other)):
        command = ["screen", "in.csv", "--target", "kind", *more, "--state", f"{name}.dsv"]
        assert call(*command).code == 0
    code, out, err = call("merge", "a.dsv", "b.dsv", "-o", "c.dsv")
    assert (code, out) == (2, "")
    assert err.startswith("driftsieve: b.dsv cannot be merged with a.dsv: --")
    assert reason in err
    assert not (folder / "c.dsv").exists()
    assert call("merge", "a.dsv", "a.dsv", "-o", "c.dsv").code == 0
    # A bank alone has no columns, but a later state does.
    assert reason in call("merge", "c.dsv", "a.dsv", "b.dsv", "-o", "d.dsv").err


@pytest.mark.usefixtures("halves")
def test_options_that_change_no_meaning_may_differ_between_states(call):
    columns = ["--categorical", "weak", "--categorical", "none"]
    swapped = ["--categorical", "none", "--categorical", "weak"]
    for name, more in (("a", [*columns, "--batch-size", 7]), ("b", swapped)):
        arguments = [f"{name}.csv", "--target", "kind", *more, "--state", f"{name}.dsv"]
        assert call("screen", *arguments).code == 0
    assert call("merge", "a.dsv", "b.dsv", "-o", "c.dsv").code == 0


def test_merges_into_the_same_file_wait_for_each_other(folder):
    for name, n in (("total", 2), ("a", 3), ("b", 5), ("c", 7)):
        bank = ds.Bank().update(np.arange(n)[:, None].astype(float), np.arange(n) % 2)
        (folder / f"{name}.dsv").write_bytes(bank.to_bytes())
    with atomic.locked("total.dsv"):  # all of them come while another is at it
        merges = [
            subprocess.Popen(
                [DRIFTSIEVE, "merge", "total.dsv", f"{name}.dsv", "-o", "total.dsv"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name in "abc"
        ]
        lines = [merge.stderr.readline() for merge in merges]
    assert lines == ["Waiting for another merge into total.dsv\n"] * 3
    for merge in merges:
        assert (merge.communicate(timeout=60)[1], merge.returncode) == ("", 0)
    assert ds.Bank.from_bytes(Path("total.dsv").read_bytes()).n_rows == 17
    assert sorted(path.name for path in folder.iterdir()) == [
        "a.dsv",
        "b.dsv",
        "c.dsv",
        "total.dsv",
    ]


def test_lock_of_a_killed_process_does_not_block(call, folder):
    (folder / "a.dsv").write_bytes(ds.Bank().update([[0.0], [1.0]], [0, 1]).to_bytes())
    (folder / ".b.dsv.lock").touch()
    code, _, err = call("merge", "a.dsv", "-o", "b.dsv")
    assert (code, err) == (0, "")
    assert not (folder / ".b.dsv.lock").exists()


@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_dense_states_of_different_columns_merge_where_values_may_be_missing(missing, call, folder):
    for name, columns in (("a", "x,v,kind"), ("b", "x,w,kind")):
        rows = [f"{i % 5 + 1},{i % 3 + 1},{'cd'[i % 2]}" for i in range(20)]
        (folder / f"{name}.csv").write_text("\n".join([columns, *rows]))
        arguments = [f"{name}.csv", "--target", "kind", "--half-life", "none", "--missing", missing]
        assert call("screen", *arguments, "--state", f"{name}.dsv").code == 0
    code, _, err = call("merge", "a.dsv", "b.dsv", "-o", "c.dsv")
    if missing == "error":
        assert code == 2
        assert err.startswith(
            "driftsieve: b.dsv cannot be merged with a.dsv: Banks of dense rows must"
        )
        assert "got rows without 'w' in this bank. With --missing ignore from the first row" in err
        assert not (folder / "c.dsv").exists()
        return
    assert (code, err) == (0, "")
    snap = ds.Bank.from_bytes((folder / "c.dsv").read_bytes()).snapshot()
    assert snap.feature_names == ("x", "v", "w")
    assert snap.weight.sum(axis=0).tolist() == [40, 20, 20]
