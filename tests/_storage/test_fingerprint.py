from pathlib import Path

import pytest

from driftsieve._storage.fingerprint import Fingerprint


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    for path in paths:
        path.write_bytes(path.name.encode() * 100)
    return paths


def fingerprint(paths: list[Path], **options: bool) -> Fingerprint:
    return Fingerprint([str(path) for path in paths], **options)


def test_each_file_is_seen_as_far_as_it_was_read(files: list[Path]) -> None:
    seen = fingerprint(files).up_to(130)
    assert seen is not None
    assert [(file.size, file.n_bytes) for file in seen] == [(100, 100), (100, 30), (100, 0)]
    whole = fingerprint(files, sequential=False).up_to(130)
    assert whole is not None
    assert [file.n_bytes for file in whole] == [100, 100, 0]


def test_repeated_fingerprints_equal_a_single_one(files: list[Path]) -> None:
    often = fingerprint(files)
    for n_bytes in (0, 1, 99, 100, 101, 250):
        last = often.up_to(n_bytes)
    assert last == fingerprint(files).up_to(250)


@pytest.mark.parametrize(("at", "refused"), [(0, True), (29, True), (30, False), (99, False)])
def test_change_in_the_read_part_is_reported(files: list[Path], at: int, refused: bool) -> None:
    seen = fingerprint(files).up_to(130)
    data = bytearray(files[1].read_bytes())
    data[at] ^= 1
    files[1].write_bytes(data)
    difference = fingerprint(files).difference(seen)
    assert difference == (f"the beginning of {files[1]} has changed" if refused else None)


def test_changed_file_size_is_reported(files: list[Path]) -> None:
    seen = fingerprint(files).up_to(130)
    files[2].write_bytes(b"c" * 1001)
    assert fingerprint(files).difference(seen) == f"{files[2]} had 100 bytes and now has 1,001"
    assert fingerprint(files[:2]).difference(seen) == "there were 3 files and now there are 2"


def test_files_may_be_moved(files: list[Path], tmp_path: Path) -> None:
    seen = fingerprint(files).up_to(130)
    moved = [path.rename(tmp_path / f"moved_{path.name}") for path in files]
    assert fingerprint(moved).difference(seen) is None


def test_fingerprint_after_a_comparison_covers_the_compared_part(files: list[Path]) -> None:
    seen = fingerprint(files).up_to(130)
    resumed = fingerprint(files)
    assert resumed.difference(seen) is None
    assert resumed.up_to(110) == seen  # a reader may have been a little ahead before
    assert resumed.up_to(300) == fingerprint(files).up_to(300)


def test_a_pipe_has_no_fingerprint(files: list[Path]) -> None:
    with_pipe = Fingerprint([str(files[0]), "-"])
    assert with_pipe.up_to(50) is None
    assert "pipe" in (with_pipe.difference(None) or "")
    assert "pipe" in (fingerprint(files).difference(None) or "")


def test_read_files_must_come_first_even_if_changed(files: list[Path]) -> None:
    seen = fingerprint(files).up_to(130)
    a, b, c = files
    for paths in ([a, b], [a, b, c], [a, b, a]):
        assert fingerprint(paths).displaced(seen) is None
    b.write_bytes(b"bb")
    c.write_bytes(b"")
    assert fingerprint(files).displaced(seen) is None
    assert fingerprint([b, a, c]).displaced(seen) == f"{a} was read and {b} is now in its place"
    assert fingerprint([a]).displaced(seen) == f"{b} was read and is no longer among the files"
    a.write_bytes(b"a" * 101)
    assert (fingerprint(files).displaced(seen) or "").startswith(
        f"{a} had 100 bytes and now has 101"
    )


def test_new_rows_in_an_empty_earlier_file_are_reported(files: list[Path]) -> None:
    files[0].write_bytes(b"")
    seen = fingerprint(files).up_to(30)
    assert fingerprint(files).displaced(seen) is None
    files[0].write_bytes(b"a")
    assert (fingerprint(files).displaced(seen) or "").startswith(f"{files[0]} had 0 bytes")


def test_pipes_and_files_not_read_may_change(files: list[Path]) -> None:
    assert Fingerprint(["-"]).displaced(fingerprint(files).up_to(130)) is None
    assert fingerprint(files).displaced(None) is None
    assert fingerprint(files[::-1]).displaced(fingerprint(files).up_to(0)) is None
