"""A file is replaced whole or not at all, at whatever step the process dies."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from driftsieve._storage import atomic

# Replaces a file in a child process that kills itself just before or just after one step of it.
CRASH = """
import os, signal, sys
from driftsieve._storage import atomic
path = sys.argv[1]
open(path, "wb").write(b"old" * 1000)

def dying(function, after):
    def die(*args, **kwargs):
        if after:
            function(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)
    return die

class Half:
    "Half of what is written reaches the file."
    def __init__(self, file):
        self.file = file
    def write(self, data):
        os.write(self.file.fileno(), data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

steps = [("write", False)] + [(s, a) for s in ("fsync", "replace") for a in (False, True)]
for name, after in steps + [("fsync of the directory", False), (None, False)]:
    child = os.fork()
    if not child:
        if name == "fsync":
            os.fsync = dying(os.fsync, after)
        elif name == "replace":
            atomic.Path.replace = dying(atomic.Path.replace, after)
        elif name == "fsync of the directory":
            atomic._platform.sync_directory = dying(atomic._platform.sync_directory, after)
        with atomic.replacing(path) as file:
            (Half(file) if name == "write" else file).write(b"new" * 2000)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    content = open(path, "rb").read()
    found = {b"old" * 1000: "old", b"new" * 2000: "new"}.get(content, "broken")
    print(name, "after" if after else "before", found, os.WIFSIGNALED(status))
    open(path, "wb").write(b"old" * 1000)
"""


def test_killed_at_any_step_the_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "bank.dsv"
    program = [sys.executable, "-c", CRASH, str(path)]
    run = subprocess.run(program, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "write before old True",
        "fsync before old True",
        "fsync after old True",
        "replace before old True",
        "replace after new True",
        "fsync of the directory before new True",
        "None before new False",
    ]
    assert len(list(tmp_path.iterdir())) == 5  # those that were killed left theirs
    atomic.remove_stale(path)
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_are_on_disk_before_the_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    fsync, replace = os.fsync, Path.replace

    def recorded_fsync(handle: int) -> None:
        steps.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    def recorded_replace(self: Path, target: Path) -> Path:
        steps.append("replace")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    with atomic.replacing(tmp_path / "bank.dsv") as file:
        file.write(b"1")
    assert Path(steps[0]).name.startswith(".bank.dsv.")
    assert steps[1:] == ["replace", str(tmp_path)]


def test_a_block_that_fails_does_not_change_the_file(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic.replacing(path) as file:
        file.write(b"new" * (1 // 0))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_permissions_and_owner_of_a_replaced_file_are_kept(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "secret.csv"
    path.write_bytes(b"old")
    if os.getuid() == 0:
        os.chown(path, 4321, 1234)
    path.chmod(mode)
    before = path.stat()
    with atomic.replacing(path) as file:
        assert os.fstat(file.fileno()).st_mode == before.st_mode  # before there is anything in it
        file.write(b"new")
    after = path.stat()
    assert after.st_ino != before.st_ino
    assert (after.st_mode, after.st_uid, after.st_gid) == before[:1] + before[4:6]


@pytest.mark.parametrize("name", ["n" * 251 + ".csv", "\N{GREEK SMALL LETTER PI}" * 127])
def test_names_of_the_largest_length_are_accepted(name: str, tmp_path: Path) -> None:
    with atomic.replacing(tmp_path / name) as file:
        file.write(b"new")
        atomic.remove_stale(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_link_stays_a_link_and_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    target, link, plain = tmp_path / "real", tmp_path / "link", tmp_path / "plain"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with atomic.replacing(link) as file:
        file.write(b"new")
    plain.write_bytes(b"")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("name", ["nowhere/out.csv", ".", "/dev/null"])
def test_path_that_cannot_be_replaced_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=name), atomic.replacing(name) as file:
        file.write(b"1")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_being_written_is_not_stale(tmp_path: Path) -> None:
    path = tmp_path / "bank.dsv"
    program = "import sys; from driftsieve._storage import atomic; atomic.remove_stale(sys.argv[1])"
    with atomic.replacing(path) as file:
        file.write(b"new")
        atomic.remove_stale(path)
        subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, stolen = fcntl.flock, []

    def too_late(file: BinaryIO, how: int) -> None:
        if not stolen:
            stolen.extend(tmp_path.iterdir())
            stolen[0].unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with atomic.replacing(tmp_path / "bank.dsv") as file:
        file.write(b"new")
    assert (tmp_path / "bank.dsv").read_bytes() == b"new"
    assert len(stolen) == 1


def test_stale_files_of_other_names_stay(tmp_path: Path) -> None:
    other = tmp_path / ".bank.dsv2.12345678.tmp"
    other.touch()
    (tmp_path / ".bank[1].dsv.12345678.tmp").touch()
    atomic.remove_stale(tmp_path / "bank.dsv")
    atomic.remove_stale(tmp_path / "bank[1].dsv")
    assert list(tmp_path.iterdir()) == [other]
