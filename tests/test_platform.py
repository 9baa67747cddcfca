"""Files, locks, limits and the command line work where the parts of POSIX are absent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftsieve import _platform

# Hides what Windows does not have. With "msvcrt" its byte locks are there, made of those of POSIX.
WITHOUT_POSIX = """
import os, subprocess, sys
if sys.argv[1] == "msvcrt":
    import fcntl, types
    def locking(handle, mode, n_bytes):
        assert n_bytes == 1 and os.lseek(handle, 0, os.SEEK_CUR) == 0
        fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if mode == 2 else 0))
    sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_LOCK=1, LK_NBLCK=2)
sys.modules["fcntl"] = None
for name in ("fchown", "fchmod", "O_DIRECTORY", "sched_getaffinity", "sysconf", "getuid"):
    delattr(os, name)
from driftsieve import _platform
_platform.HOLDS_OPEN_FILES = True
_replace, _unlink = os.replace, os.unlink
def is_open(path):
    return any(os.path.samefile(f"/proc/self/fd/{n}", path) for n in os.listdir("/proc/self/fd")
               if os.path.exists(f"/proc/self/fd/{n}"))
def replace(source, target, **more):
    assert not is_open(source), "an open file was renamed"
    _replace(source, target, **more)
def unlink(path, **more):
    assert not os.path.exists(path) or not is_open(path), "an open file was removed"
    _unlink(path, **more)
os.replace, os.unlink = replace, unlink
"""


def run(program: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX + program, *args], capture_output=True, text=True
    )


@pytest.mark.parametrize("locks", ["msvcrt", "none"])
def test_files_are_replaced_and_merges_wait_without_posix(locks: str, tmp_path: Path) -> None:
    program = """
from pathlib import Path
from driftsieve._storage import atomic
path = Path(sys.argv[2]) / "bank.dsv"
for data in (b"one\\n", b"two\\n"):
    with atomic.locked(path), atomic.replacing(path) as file:
        file.write(data)
assert path.read_bytes() == b"two\\n"
stale = path.with_name(".bank.dsv.12345678.tmp")
stale.touch()
atomic.remove_stale(path)
assert stale.exists() == (sys.argv[1] == "none")  # without locks it might still be written
print(sorted(p.name for p in path.parent.iterdir() if p != stale))
"""
    done = run(program, locks, str(tmp_path))
    assert done.stderr == ""
    assert done.stdout == "['bank.dsv']\n"


def test_a_second_process_waits_for_the_byte_lock(tmp_path: Path) -> None:
    program = """
from driftsieve._storage import atomic
path = sys.argv[2]
if len(sys.argv) > 3:
    with atomic.locked(path, lambda: print("waits", flush=True)):
        print("has it", flush=True)
else:
    with atomic.locked(path):
        other = subprocess.Popen([sys.executable, "-c", PROGRAM, "msvcrt", path, "second"],
                                 stdout=subprocess.PIPE, text=True)
        first = other.stdout.readline()
    print(first.strip(), other.communicate()[0].strip())
"""
    program = f"PROGRAM = {WITHOUT_POSIX + program!r}\n" + program
    done = run(program, "msvcrt", str(tmp_path / "bank.dsv"))
    assert done.stderr == ""
    assert done.stdout == "waits has it\n"


def test_command_line_screens_and_stores_without_posix(tmp_path: Path) -> None:
    rows = "".join(f"{i % 7},{i % 2},{i % 2}\n" for i in range(50))
    (tmp_path / "rows.csv").write_text("a,b,y\n" + rows)
    program = """
from driftsieve.cli import main
sys.argv = ["driftsieve", "screen", sys.argv[2] + "/rows.csv", "--target", "y",
            "--state", sys.argv[2] + "/bank.dsv"]
sys.exit(main())
"""
    done = run(program, "none", str(tmp_path))
    assert (done.returncode, "50 rows, 2 features" in done.stdout) == (0, True), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank.dsv", "rows.csv"]


def test_memory_and_cores_are_known_here() -> None:
    assert 1 <= _platform.n_cores() <= (os.cpu_count() or 1)
    assert 1e8 < _platform.memory_bytes() < 1e15
