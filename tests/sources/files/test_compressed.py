"""Compressed files: of several parts, padded, damaged or cut off."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from source_helpers import COMPRESS, LINES, assert_same_batches, error_of, labels, write

from driftsieve.sources import as_batches
from driftsieve.sources.files.compressed import bz2_file, xz_file


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_equal_plain_ones(suffix: str, tmp_path: Path) -> None:
    plain = write(tmp_path / "a.svm", LINES)
    packed = write(tmp_path / f"a.svm.{suffix}", COMPRESS[suffix](LINES))
    batches = as_batches(packed, batch_size=300)
    assert_same_batches(batches, as_batches(plain, batch_size=300))
    assert batches.bytes_read == batches.total_bytes == packed.stat().st_size


@pytest.mark.parametrize("suffix", COMPRESS)
def test_files_of_several_compressed_parts(suffix: str, tmp_path: Path) -> None:
    half = len(LINES) // 2
    parts = COMPRESS[suffix](LINES[:half]) + COMPRESS[suffix](LINES[half:])
    assert len(labels(write(tmp_path / f"a.svm.{suffix}", parts))) == 1000


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("damage", [0, 2, 10])
def test_damaged_part_is_an_error(suffix: str, damage: int, tmp_path: Path) -> None:
    first, second = COMPRESS[suffix](LINES), bytearray(COMPRESS[suffix](LINES))
    second[damage] ^= 255
    message = error_of(write(tmp_path / f"a.svm.{suffix}", first + second))
    assert re.match(r", near line \d+: The file cannot be read: ", message)


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("n_zeros", [4, 100_000, 200_000])
def test_zeros_after_a_part_are_padding(suffix: str, n_zeros: int, tmp_path: Path) -> None:
    part = COMPRESS[suffix](LINES) + bytes(n_zeros)
    assert len(labels(write(tmp_path / f"a.svm.{suffix}", part + part))) == 2000
    message = error_of(write(tmp_path / f"b.svm.{suffix}", part + b"else"))
    assert re.match(r", near line \d+: The file cannot be read: ", message)


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_zeros_before_a_part_are_no_padding(suffix: str, tmp_path: Path) -> None:
    message = error_of(write(tmp_path / f"a.svm.{suffix}", bytes(4) + COMPRESS[suffix](LINES)))
    assert message.startswith(", near line 1: The file cannot be read: ")


@pytest.mark.parametrize("after", [b"", COMPRESS["xz"](LINES)])
def test_padding_of_xz_has_a_multiple_of_four_zeros(after: bytes, tmp_path: Path) -> None:
    part = COMPRESS["xz"](LINES) + bytes(100_002)
    message = error_of(write(tmp_path / "a.svm.xz", part + after))
    assert message.endswith("cannot be read: 100002 zeros follow a stream, no multiple of 4")


@pytest.mark.parametrize("suffix", ["bz2", "xz"])
def test_zeros_alone_are_padding(suffix: str) -> None:
    part = COMPRESS[suffix](LINES)
    pieces = iter([part, bytes(8), part, bytes(4), bytes(4)])
    raw = SimpleNamespace(read=lambda _: next(pieces, b""))
    opened = {"bz2": bz2_file, "xz": xz_file}[suffix](raw)
    assert opened.readall() == LINES * 2


@pytest.mark.parametrize("suffix", COMPRESS)
def test_truncated_file_is_an_error_that_names_the_line(suffix: str, tmp_path: Path) -> None:
    packed = COMPRESS[suffix](LINES)
    path = write(tmp_path / f"a.svm.{suffix}", packed[: len(packed) // 2])
    for on_error in ("raise", "skip"):
        message = error_of(path, on_error=on_error)
        assert message.startswith(", near line ")
        assert "cannot be read: " in message


@pytest.mark.parametrize("suffix", COMPRESS)
def test_uncompressed_file_with_a_compressed_suffix_is_an_error(
    suffix: str, tmp_path: Path
) -> None:
    assert "cannot be read: " in error_of(write(tmp_path / f"a.svm.{suffix}", LINES))
