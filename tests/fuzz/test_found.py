"""Files found by fuzzing that took memory, ended the process or raised an unexpected error."""

from __future__ import annotations

import io
import lzma
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc

import driftsieve as ds
from driftsieve.exceptions import SourceError

FOUND = sorted(Path(__file__).parent.joinpath("found").glob("*.[ap]*"))
TABLE = pa.table({"a": [1.0, 2.0], "y": [0, 1]})


def stream(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    with ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def greedy_xz() -> bytes:
    """The header of the first block requests a dictionary of 4 GiB."""
    data = bytearray(lzma.compress(b"a,y\n1,0\n2,1\n"))
    end = 12 + (data[12] + 1) * 4  # of the header of the block, behind that of the stream
    data[16] = 40  # the size of the dictionary: 4 GiB
    data[end - 4 : end] = struct.pack("<I", zlib.crc32(data[12 : end - 4]))
    return bytes(data)


def greedy_arrow() -> bytes:
    """The first message says that it has 2**31 - 8 bytes."""
    data = bytearray(stream(TABLE))
    data[4:8] = struct.pack("<i", 2**31 - 8)
    return bytes(data)


GREEDY = {"greedy.csv.xz": greedy_xz, "greedy.arrow": greedy_arrow}


def growth(path: Path) -> int:
    """How much memory a process takes to refuse the file, in bytes."""
    script = f"""
import resource
import pyarrow.parquet, pyarrow.ipc
import driftsieve as ds
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = most()
try:
    list(ds.as_batches({str(path)!r}, target="y"))
except ds.SourceError:
    print(most() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the unit is another one")
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_known_harmful_file_is_refused_in_bounded_memory(path: Path) -> None:
    assert growth(path) < 64 << 20


@pytest.mark.parametrize("name", GREEDY)
def test_file_that_declares_gigabytes_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(GREEDY[name]())
    with pytest.raises(SourceError, match="cannot be read: "):
        list(ds.as_batches(tmp_path / name, target="y"))
    assert growth(tmp_path / name) < 64 << 20


def test_failed_allocation_is_a_source_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.arrow").write_bytes(stream(TABLE))

    def open_stream(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ipc, "open_stream", open_stream)
    with pytest.raises(SourceError, match="needs more memory than is available"):
        list(ds.as_batches(tmp_path / "a.arrow", target="y"))


def test_columns_of_one_name(tmp_path: Path) -> None:
    twice = TABLE.append_column("a", pa.array([3.0, 4.0]))
    (tmp_path / "a.arrow").write_bytes(stream(twice))
    with pytest.raises(SourceError, match=r"Column names must differ, got 'a' 2 times\. Rename"):
        list(ds.as_batches(tmp_path / "a.arrow", target="y"))


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_whether_a_label_is_too_large_does_not_depend_on_the_others(on_error, tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"y": -1}\n{"y": 9223372036854775808}\n{"y": 1.0}\n')
    if on_error == "raise":
        with pytest.raises(SourceError, match="line 2: Labels must fit 64-bit integers"):
            list(ds.as_batches(path, target="y"))
        return
    batches = ds.as_batches(path, target="y", on_error="skip")
    assert [batch.y.tolist() for batch in batches] == [[-1, 1]]
    assert (batches.rows_read, batches.rows_skipped) == (3, 1)


def test_an_xz_file_of_several_streams(tmp_path: Path) -> None:
    parts = [b"a,y\n1,0\n", b"", b"2,1\n" * 70_000]
    path = tmp_path / "a.csv.xz"
    path.write_bytes(b"".join(lzma.compress(part) + bytes(8) for part in parts))
    assert sum(batch.n_rows for batch in ds.as_batches(path, target="y")) == 70_001
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(SourceError, match="ends before the end"):
        list(ds.as_batches(path, target="y"))
