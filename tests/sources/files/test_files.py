"""Which files are read, how they are compressed, and their faults."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from source_helpers import COMPRESS, LINES, error_of, labels, write

from driftsieve.exceptions import SourceError
from driftsieve.sources import FORMATS, as_batches


@pytest.mark.parametrize(
    ("option", "kinds"),
    [
        ({"header": True}, ["csv", "tsv"]),
        ({"header": False}, ["csv", "tsv"]),
        ({"delimiter": ","}, ["csv", "tsv"]),
        ({"zero_based": True}, ["svmlight"]),
    ],
)
def test_options_of_another_format_are_refused(
    option: dict[str, Any], kinds: list[str], tmp_path: Path
) -> None:
    (name,) = option
    file = write(tmp_path / "a.data", "a,y\n1,0\n")
    for kind in FORMATS:
        given = {"format": kind, "target": None if kind == "svmlight" else "y"}
        for source in (file, "-"):
            as_batches(source, **given)
            if kind in kinds:
                as_batches(source, **given, **option)
            else:
                with pytest.raises(
                    SourceError, match=rf"^{name} must not be given for {kind} files\.$"
                ):
                    as_batches(source, **given, **option)
    for rows in (([[1.0]], [0]), [{"a": 1, "y": 0}]):
        with pytest.raises(SourceError, match=f"^{name} must not be given for sources in mem"):
            as_batches(rows, **option)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (gzip.compress(LINES), "have the format of its suffix, got a gzip file."),
        (bz2.compress(LINES), "have the format of its suffix, got a bzip2 file."),
        (lzma.compress(LINES), "have the format of its suffix, got a xz file."),
        (b"PAR1....", "have the format of its suffix, got a parquet file."),
        (b"\x7fELF\x00\x00", "be text, got binary data."),
    ],
)
@pytest.mark.parametrize("name", ["a.svm", "a.csv", "a.jsonl"])
def test_binary_data_in_text_files_is_an_error(
    content: bytes, kind: str, name: str, tmp_path: Path
) -> None:
    target = {} if name == "a.svm" else {"target": "y"}
    assert error_of(write(tmp_path / name, content), **target) == f": A file must {kind}"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_text_of_another_encoding(encoding: str, tmp_path: Path) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    path = write(tmp_path / "a.csv", (mark + "x,y\n1,0\n").encode(encoding))
    assert error_of(path, target="y") == (
        ": Text must be UTF-8, got UTF-16. Use iconv -f UTF-16 -t UTF-8."
    )


@pytest.mark.parametrize(
    ("suffix", "command"),
    [("gz", "gunzip -c"), ("bz2", "bunzip2 -c"), ("xz", "xz -dc"), ("zst", "zstd -dc")],
)
def test_compressed_standard_input(
    suffix: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = io.BytesIO(COMPRESS[suffix](LINES))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
    with pytest.raises(
        SourceError,
        match=rf"^-: Standard input .*, got .* data. Unpack it first \({command}\), or pass",
    ):
        list(as_batches("-", format="svmlight"))


def test_missing_files_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.svm: No such file\.$"):
        as_batches(tmp_path / "a.svm")
    with pytest.raises(
        SourceError, match=r"\*\.svm: A pattern must match at least one file, got none\.$"
    ):
        as_batches(tmp_path / "*.svm")
    (tmp_path / "folder.svm").mkdir()
    with pytest.raises(
        SourceError, match=r"\*\.svm: A pattern must match at least one file, got none\.$"
    ):
        as_batches(tmp_path / "*.svm")
    (tmp_path / "link.svm").symlink_to("nowhere.svm")
    with pytest.raises(SourceError, match=r"link\.svm: No such file or directory$"):
        as_batches(tmp_path / "*.svm")
    with pytest.raises(SourceError, match=r"got a directory. Pass its files"):
        as_batches(tmp_path)


@pytest.mark.parametrize(
    ("suffix", "empty", "row"),
    [
        (".svm", "", "1 1:1\n"),
        (".svm", "# nothing\n\n", "1 1:1\n"),
        (".svm.gz", gzip.compress(b"", mtime=0), gzip.compress(b"1 1:1\n", mtime=0)),
        *((f".svm.{kind}", "", pack(b"1 1:1\n")) for kind, pack in COMPRESS.items()),
        (".csv", "", "x,y\n1,1\n"),
        (".csv", "x,y\n", "x,y\n1,1\n"),
        (".jsonl", "\n", '{"x": 1, "y": 1}\n'),
    ],
)
def test_files_without_rows_are_passed_over(
    suffix: str, empty: bytes | str, row: bytes | str, tmp_path: Path
) -> None:
    options = {} if suffix.startswith(".svm") else {"target": "y"}
    first = write(tmp_path / f"1{suffix}", empty)
    assert error_of(first, **options) == ": The file must have rows, got none."
    last = write(tmp_path / f"3{suffix}", empty)
    with pytest.raises(SourceError, match=r"^At least one of 2 files must have rows, got none\.$"):
        list(as_batches([first, last], **options))
    write(tmp_path / f"2{suffix}", row)
    assert labels(tmp_path / f"*{suffix}", **options) == [1]
    assert labels(tmp_path / f"*{suffix}", skip_rows=1, **options) == []


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_empty_columnar_file_is_an_error(name: str, tmp_path: Path) -> None:
    assert error_of(write(tmp_path / name, ""), target="y").startswith(": The file cannot be read")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may read everything")
def test_a_file_without_read_permission_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", LINES)
    path.chmod(0)
    assert error_of(path) == ": Permission denied"


def test_unknown_or_mixed_formats_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 1:1\n")
    with pytest.raises(
        SourceError, match=r"a\.txt: format must be given for a file of this name, got none. Pass"
    ):
        as_batches(path)
    assert labels(path, format="svmlight") == [1]
    sheet = write(tmp_path / "a.xlsx", b"PK")
    with pytest.raises(SourceError, match=r"a\.xlsx: .* got \.xlsx\. Save the sheet as csv\."):
        as_batches(sheet, target="y")
    assert labels(write(tmp_path / "A.SVM.GZ", gzip.compress(b"5 1:1\n"))) == [5]
    write(tmp_path / "b.csv", "1,2\n")
    with pytest.raises(
        SourceError, match="All files must have the same format, got csv and svmlight"
    ):
        as_batches([tmp_path / "b.csv", tmp_path / "A.SVM.GZ"])


def test_batch_has_rows_of_one_file_only(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.svm", "1 1:1\n" * 5), write(tmp_path / "b.svm", "0 2:1\n" * 4)
    batches = as_batches([a, b], batch_size=3)
    assert [batch.n_rows for batch in batches] == [3, 2, 3, 1]
    assert batches.total_bytes == a.stat().st_size + b.stat().st_size == batches.bytes_read


def test_standard_input_is_read_in_each_format(monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(data: bytes) -> None:
        monkeypatch.setattr(
            sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(data)))
        )

    feed(b"x,y\n1,0\n2,1\n")
    batches = as_batches("-", format="csv", target="y")
    assert [batch.X.tolist() for batch in batches] == [[[1], [2]]]
    assert batches.total_bytes is None
    feed(b"1 1:1\n")
    assert labels("-", format="svmlight") == [1]
    table = pa.table({"x": [1.0], "y": [4]})
    for new in (pa.ipc.new_stream, pa.ipc.new_file):
        sink = pa.BufferOutputStream()
        with new(sink, table.schema) as writer:
            writer.write_table(table)
        feed(sink.getvalue().to_pybytes())
        if new is pa.ipc.new_stream:
            assert labels("-", format="arrow", target="y") == [4]
        else:
            with pytest.raises(SourceError, match=r"^-: An Arrow file must be on disk"):
                labels("-", format="arrow", target="y")
    with pytest.raises(SourceError, match=r"^-: format must be given for standard input"):
        as_batches("-")
    with pytest.raises(SourceError, match=r"^-: A parquet file must be on disk and uncompressed"):
        labels("-", format="parquet", target="y")
    feed(b"1 1:1\nx\n")
    with pytest.raises(SourceError, match=r"^-, line 2: "):
        labels("-", format="svmlight")


def test_progress_through_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", LINES * 300)
    batches = as_batches(path, batch_size=10_000)
    seen = [0, *(batches.bytes_read for _ in batches)]
    assert seen == sorted(seen)
    assert len(set(seen)) > 3
    assert seen[-1] == batches.total_bytes == path.stat().st_size
