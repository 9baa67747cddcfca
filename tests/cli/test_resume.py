"""``--state`` and ``--resume``: which changes between two runs are allowed, and which refused."""

import shutil
import signal
from pathlib import Path

import pyarrow.csv
import pyarrow.feather
import pytest

from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.cli.keeper import Every, Keeper
from driftsieve.cli.run import Run, Settings

from .helpers import csv_text


@pytest.fixture
def command(stream):
    """A run over a thousand rows in batches of a hundred."""
    more = ["--target", "kind", "--batch-size", 100, "--state", "s.dsv", "--half-life", 300]
    return ["screen", stream, *more]


@pytest.fixture
def stopped(command, call, monkeypatch):
    """That run, stopped by Ctrl-C after 400 rows."""
    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "after_batch", _stop_after(400))
        assert call(*command).code == 130
    assert Checkpoint.load("s.dsv").bank.n_rows == 400
    return command


def _stop_after(rows):
    def after_batch(self):
        if self._run.bank.n_rows >= rows:
            signal.raise_signal(signal.SIGINT)

    return after_batch


def test_resume_continues_where_it_stopped(stopped, call):
    assert call(*stopped, "--resume").code == 0
    resumed = Path("s.dsv").read_bytes()
    assert call(*stopped, "--force").code == 0
    assert Path("s.dsv").read_bytes() == resumed


def test_existing_state_is_not_overwritten(stopped, call):
    before = Path("s.dsv").read_bytes()
    code, out, err = call(*stopped)
    assert (code, out) == (2, "")
    assert err == (
        "driftsieve: --state must be a new file, got s.dsv, which exists. Pass --resume to "
        "continue from it, or --force to replace it.\n"
    )
    assert Path("s.dsv").read_bytes() == before


def test_resume_without_a_state_begins(command, call):
    code, _, err = call(*command, "--resume")
    assert code == 0
    assert err == "s.dsv does not exist yet. Starting at the first row.\n"
    assert call(*command, "--resume").code == 0  # at the end of the input only messages are left


@pytest.mark.parametrize(
    ("more", "option"),
    [
        (["--half-life", 301], "--half-life must be 300.0, as in the run to resume, got 301.0"),
        (["--batch-size", 50], "--batch-size must be 100, as in the run to resume, got 50"),
        (["--epsilon", 0.02], "--epsilon must be 0.01, as in the run to resume, got 0.02"),
        (["--target", "colour"], "--target must be kind, as in the run to resume, got colour"),
        (
            ["--drop", "weak", "--drop", "none"],
            "--drop must be none, as in the run to resume, got weak,none",
        ),
        (
            ["--history-every", 100],
            "--history-every must be none, as in the run to resume, got 100",
        ),
        (["--missing", "ignore"], "--missing must be error, as in the run to resume, got ignore"),
        (["--no-header"], "--header must be auto, as in the run to resume, got False"),
    ],
)
def test_other_settings_are_refused(more, option, stopped, call):
    before = Path("s.dsv").read_bytes()
    code, _, err = call(*stopped, "--resume", *more)
    assert code == 2
    assert option in err
    assert Path("s.dsv").read_bytes() == before


def test_irrelevant_options_may_change_on_resume(stopped, call):
    more = [
        "--threads",
        1,
        "--top",
        3,
        "--score-func",
        "t",
        "--n-bins",
        4,
        "--checkpoint-every",
        "1h",
    ]
    assert call(*stopped, "--resume", *more, "--on-error", "skip", "--out", "r.csv").code == 0


def test_with_a_history_its_score_matters(command, call):
    command += ["--history-every", 100]
    assert call(*command).code == 0
    assert call(*command, "--resume").code == 0
    assert (
        "--score-func must be mutual_info, as in the run to resume, got t"
        in call(*command, "--resume", "--score-func", "t").err
    )


def test_changed_input_is_refused_without_the_accept_option(stopped, call, stream):
    text = stream.read_text()
    before = Path("s.dsv").read_bytes()
    lines = text.splitlines(keepends=True)
    lines[10] = lines[10].replace("blue", "gree").replace("red,", "tan,")
    for changed, cause in [
        ("".join(lines), f"the beginning of {stream} has changed"),
        (text + lines[-1], f"{stream} had {len(text):,} bytes and now has "),
        (text[:-1], f"{stream} had {len(text):,} bytes and now has "),
    ]:
        stream.write_text(changed)
        code, out, err = call(*stopped, "--resume")
        assert (code, out) == (2, "")
        assert err.startswith(
            f"driftsieve: The input must be that of the run to resume, but {cause}"
        )
        assert "--accept-changed-input" in err
        assert Path("s.dsv").read_bytes() == before
    stream.write_text(text + csv_text(50, seed=1).partition("\n")[2])
    code, out, _ = call(*stopped, "--resume", "--accept-changed-input")
    assert code == 0
    assert "1,050 rows" in out
    assert call(*stopped, "--resume").code == 0  # it is the input of the state now


def test_buffered_bytes_count_as_read(stopped, call, stream):
    text = stream.read_text()
    stream.write_text(text[:-60] + text[-60:].replace("blue", "teal").replace("red", "tan"))
    assert "has changed" in call(*stopped, "--resume").err


def test_a_copy_elsewhere_is_the_same_input(stopped, call, stream, folder):
    copy = shutil.copy(stream, folder / "copy.csv")
    command = [copy if argument == stream else argument for argument in stopped]
    assert call(*command, "--resume").code == 0


def test_more_files_are_accepted_with_the_option(call, folder):
    for day in (1, 2):
        (folder / f"day{day}.csv").write_text(csv_text(100, seed=day))
    command = ["screen", "day*.csv", "--target", "kind", "--state", "s.dsv"]
    assert call(*command).code == 0
    (folder / "day3.csv").write_text(csv_text(100, seed=3))
    assert "there were 2 files and now there are 3" in call(*command, "--resume").err
    assert call(*command, "--resume", "--accept-changed-input").code == 0
    resumed = Path("s.dsv").read_bytes()
    assert call(*command, "--force").code == 0
    assert Path("s.dsv").read_bytes() == resumed


def test_fewer_rows_than_were_read_is_an_error(stopped, call, stream):
    stream.write_text(csv_text(300))
    code, _, err = call(*stopped, "--resume", "--accept-changed-input")
    assert code == 2
    assert "skip_rows must be at most 300, got 400" in err


def test_any_change_of_a_columnar_file_is_noticed(call, stream, monkeypatch, folder):
    pyarrow.feather.write_feather(pyarrow.csv.read_csv(stream), "a.feather")
    command = ["screen", "a.feather", "--target", "kind", "--batch-size", 100, "--state", "s.dsv"]
    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "after_batch", _stop_after(200))
        assert call(*command).code == 130
    data = bytearray((folder / "a.feather").read_bytes())
    data[-50] ^= 1
    (folder / "a.feather").write_bytes(data)
    assert "the beginning of a.feather has changed" in call(*command, "--resume").err


def test_damaged_state_is_refused_and_not_changed(stopped, call):
    data = Path("s.dsv").read_bytes()
    for damaged, cause in [
        (data[:-9], "truncated or corrupted"),
        (b"", "without its magic number"),
    ]:
        Path("s.dsv").write_bytes(damaged)
        code, _, err = call(*stopped, "--resume")
        assert code == 2
        assert err.startswith("driftsieve: s.dsv cannot be resumed: ")
        assert cause in err
        assert Path("s.dsv").read_bytes() == damaged


def test_a_merged_bank_has_no_place_to_resume_at(stopped, call):
    assert call("merge", "s.dsv", "-o", "merged.dsv").code == 0
    Path("merged.dsv").rename("s.dsv")
    assert "must be a Driftsieve checkpoint, got a 'bank'" in call(*stopped, "--resume").err


def test_rows_left_out_are_counted_over_all_runs(call, folder, monkeypatch):
    lines = csv_text(300).splitlines()
    lines[50] = lines[150] = lines[250] = "bad"
    (folder / "a.csv").write_text("\n".join(lines) + "\n")
    command = ["screen", "a.csv", "--target", "kind", "--on-error", "skip", "--state", "s.dsv"]
    command += ["--batch-size", 100]
    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "after_batch", _stop_after(150))
        assert call(*command).code == 130
    place = Checkpoint.load("s.dsv").place
    assert (place.position, place.rows_skipped) == (200, 2)
    err = call(*command, "--resume").err.splitlines()
    assert err[0] == "Left out 3 rows that could not be used:"
    assert [line.partition(":")[0] for line in err[1:]] == [
        "  a.csv, line 51",
        "  a.csv, line 151",
        "  a.csv, line 251",
    ]


def test_checkpoints_are_written_every_n_rows_or_seconds(stream, folder, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("driftsieve.cli.keeper.time.monotonic", lambda: now[0])
    settings = Settings(target="kind", batch_size=40)

    def saved_at(every: Every, seconds_per_batch: float) -> list[int]:
        run = Run([str(stream)], settings)
        keeper = Keeper(run, folder / "s.dsv", every)
        found = []
        monkeypatch.setattr(Checkpoint, "save", lambda self, _: found.append(self.bank.n_rows))
        for batch in run.batches:
            run.take(batch)
            now[0] += seconds_per_batch
            keeper.after_batch()
        return found

    assert saved_at(Every(rows=100), 0) == [120, 200, 320, 400, 520, 600, 720, 800, 920, 1000]
    assert saved_at(Every(seconds=30), 10) == [120, 240, 360, 480, 600, 720, 840, 960]
    assert saved_at(Every(), 10) == []
