"""``driftsieve screen`` learns how long to remember, or ranks by each of several half-lives."""

import csv
import json
from pathlib import Path

from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.memory import LearnedBank


def test_the_memory_is_learned_by_default_and_printed(call, stream):
    code, out, _ = call("screen", stream, "--target", "kind", "--state", "s.dsv")
    assert code == 0
    assert "Memory: about" in out
    assert isinstance(Checkpoint.load("s.dsv").bank, LearnedBank)
    assert "Memory: about" in call("inspect", "s.dsv").out
    assert "Memory" not in call("screen", stream, "--target", "kind", "--half-life", "none").out
    assert "Memory" not in call("screen", stream, "--target", "kind", "--decay", "0.999").out


def test_resuming_gives_the_same_bytes(call, stream):
    options = ["--target", "kind", "--batch-size", 130]
    whole, header, *rows = stream.read_text(), *stream.read_text().splitlines(keepends=True)
    assert call("screen", stream, *options, "--state", "whole.dsv").code == 0
    stream.write_text("".join([header, *rows[:650]]))
    assert call("screen", stream, *options, "--state", "parts.dsv").code == 0
    stream.write_text(whole)
    more = ["--state", "parts.dsv", "--resume", "--accept-changed-input"]
    assert call("screen", stream, *options, *more).code == 0
    banks = [Checkpoint.load(f"{name}.dsv").bank.to_bytes() for name in ("whole", "parts")]
    assert banks[0] == banks[1]


def test_a_list_ranks_by_each_half_life(call, stream):
    options = ["--target", "kind", "--half-life", "100,none", "--out", "r.csv"]
    code, out, _ = call("screen", stream, *options, "--top", 1)
    assert code == 0
    assert out.split()[0] == "half-life"
    with Path("r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["half_life"] for row in rows] == ["100.0"] * 5 + ["inf"] * 5
    for life, part in (("100", rows[:5]), ("none", rows[5:])):
        assert (
            call("screen", stream, *options[:2], "--half-life", life, "--out", "one.csv").code == 0
        )
        with Path("one.csv").open(newline="") as file:
            alone = list(csv.DictReader(file))
        assert [row["name"] for row in part] == [row["name"] for row in alone]
    found = json.loads(call("screen", stream, *options, "--json").out)
    assert found["ranking"][0]["half_life"] == 100.0


def test_a_report_needs_one_ranking(call, stream):
    options = ["--target", "kind", "--half-life", "100,none"]
    code, _, err = call("screen", stream, *options, "--report", "r.html")
    assert code == 2
    assert "--half-life must be one value or auto" in err
    assert call("screen", stream, *options[:2], "--report", "r.json").code == 0
    assert json.loads(Path("r.json").read_text())["memory"]["text"].startswith("Memory")
