"""``merge``: what it makes of several banks, and which it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

import driftsieve as ds
from driftsieve.checkpoint import Checkpoint


@pytest.fixture
def halves(stream, folder):
    header, *lines = stream.read_text().splitlines(keepends=True)
    for name, part in (("a", lines[:600]), ("b", lines[600:])):
        (folder / f"{name}.csv").write_text(header + "".join(part))


@pytest.mark.usefixtures("halves")
@pytest.mark.parametrize("fading", [[], ["--half-life", 100], ["--alpha", 0.9, "--clock", "batch"]])
def test_merged_halves_score_as_the_whole(fading, call):
    options = ["--target", "kind", "--epsilon", 0.001, "--batch-size", 100, *fading]
    for name in ("a", "b", "stream"):
        assert call("screen", f"{name}.csv", *options, "--state", f"{name}.dsv").code == 0
    code, out, err = call("merge", "a.dsv", "b.dsv", "-o", "c.dsv")
    assert (code, err) == (0, "")
    assert out.startswith("1,000 rows, 5 features, 2 classes (ham, spam).")
    merged = ds.Bank.from_bytes(Path("c.dsv").read_bytes())
    whole = Checkpoint.load("stream.dsv").bank
    assert merged.now == whole.now
    for score in (ds.scores.t_score, ds.scores.mutual_info):
        np.testing.assert_allclose(score(merged.freeze()), score(whole.freeze()), rtol=1e-9)


@pytest.mark.usefixtures("halves")
def test_merge_takes_merged_banks_and_one_alone(call):
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
        arguments = [f"{name}.csv", "--target", "kind", "--state", f"{name}.dsv"]
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
    assert err.startswith("driftsieve: b.dsv does not merge with a.dsv: Only banks with the same")
    assert not (folder / "c.dsv").exists()


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ([], ["--target", "colour"], "--target colour, not kind"),
        ([], ["--weight", "w"], "--weight w, not none"),
        (["--time", "w"], ["--time", "v"], "--time v, not w"),
        ([], ["--categorical", "v"], "--categorical v, not none"),
        (["--categorical", "v", "--categorical", "w"], ["--categorical", "w"], "w, not v,w"),
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
    assert err.startswith("driftsieve: b.dsv does not merge with a.dsv: it was screened with --")
    assert reason in err
    assert not (folder / "c.dsv").exists()
    assert call("merge", "a.dsv", "a.dsv", "-o", "c.dsv").code == 0
    # A bank alone says nothing of columns, but what comes after it does.
    assert reason in call("merge", "c.dsv", "a.dsv", "b.dsv", "-o", "d.dsv").err


@pytest.mark.usefixtures("halves")
def test_options_that_change_no_meaning_may_differ_between_states(call):
    columns = ["--categorical", "weak", "--categorical", "none"]
    swapped = ["--categorical", "none", "--categorical", "weak"]
    for name, more in (("a", [*columns, "--batch-size", 7]), ("b", swapped)):
        arguments = [f"{name}.csv", "--target", "kind", *more, "--state", f"{name}.dsv"]
        assert call("screen", *arguments).code == 0
    assert call("merge", "a.dsv", "b.dsv", "-o", "c.dsv").code == 0
