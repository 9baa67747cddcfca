"""Files by name: which ones are meant, their formats, and how their bytes are read."""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import sys
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from driftsieve._arguments import arg
from driftsieve.exceptions import SourceError, SourceWarning
from driftsieve.sources.files.compressed import bz2_file, xz_file

SUFFIXES = {
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_SMALL = 1 << 18  # bytes of text
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
# Errors of decompressors and the operating system; those of pyarrow are ValueError and OSError.
READ_ERRORS = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class File:
    """A file to read; ``-`` is standard input."""

    name: str
    size: int | None = None

    @property
    def compression(self) -> str | None:
        suffix = Path(self.name).suffix.lower()
        return suffix if suffix in COMPRESSED else None

    @property
    def format(self) -> str:
        path = Path(self.name.lower())
        suffix = path.with_suffix("").suffix if self.compression else path.suffix
        if suffix in (".xlsx", ".xls", ".ods"):
            problem = f"A source must not be a spreadsheet, got {suffix}. Save the sheet as csv."
            raise SourceError(problem, self.name)
        if suffix not in SUFFIXES:
            known = ", ".join(sorted(set(SUFFIXES.values())))
            what = "standard input" if self.name == "-" else "a file of this name"
            raise SourceError(
                f"{arg('format')} must be given for {what}, got none. Pass one of {known}.",
                self.name,
            )
        return SUFFIXES[suffix]


def find(names: list[str | PathLike[str]]) -> list[File]:
    """Return the existing files for names and patterns; matches are sorted.

    A file that is given twice, for example by a name and a pattern, is read once, with a warning.
    """
    files: dict[object, File] = {}
    for file in (file for name in names for file in _matches(str(name))):
        first = files.setdefault(_identity(file), file)
        if first is not file:
            again = "" if first.name == file.name else f", also as {file.name}"
            warnings.warn(
                f"{first.name} is given twice{again}. It is read once.", SourceWarning, stacklevel=2
            )
    return list(files.values())


def _identity(file: File) -> object:
    if file.name == "-":
        return file.name
    found = Path(file.name).stat()
    return found.st_dev, found.st_ino


def _matches(name: str) -> list[File]:
    if name == "-":
        return [File(name)]
    path = Path(name)
    if path.exists():
        return [_checked(path)]
    if any(sign in name for sign in "*?["):
        anchor = Path(path.anchor)
        found = sorted(anchor.glob(str(path.relative_to(anchor))))
        seen = (match for match in found if _n_hidden(match) == _n_hidden(path))
        if files := [_checked(match) for match in seen if not match.is_dir()]:
            return files
        raise SourceError("A pattern must match at least one file, got none.", name)
    raise SourceError("No such file.", name)


def _n_hidden(path: Path) -> int:
    """Return how many parts begin with a dot, which a wildcard does not match, as in a shell."""
    return sum(part.startswith(".") for part in path.parts)


def _checked(path: Path) -> File:
    try:
        found = path.stat()
    except OSError as problem:  # a broken link, or a file that was removed since
        raise SourceError(problem.strerror, str(path)) from problem
    if stat.S_ISDIR(found.st_mode):
        raise SourceError(
            f"A source must be a file, got a directory. Pass its files, as in {path / '*.csv'}.",
            str(path),
        )
    return File(str(path), found.st_size if stat.S_ISREG(found.st_mode) else None)


@contextmanager
def opened(file: File) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a file; yield it (for its position) and its uncompressed bytes."""
    if file.name == "-":
        yield sys.stdin.buffer, sys.stdin.buffer
        return
    try:
        raw: Any = io.FileIO(file.name)
    except OSError as problem:
        raise SourceError(problem.strerror, file.name) from problem
    with raw:
        source = _uncompressed(raw, file.compression)
        with io.BufferedReader(source, buffer_size=1 << 20) as stream:
            yield raw, stream


def _uncompressed(raw: Any, compression: str | None) -> Any:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if compression == ".bz2":
        return bz2_file(raw)
    if compression == ".xz":
        return xz_file(raw)
    if compression == ".zst":
        pa = pyarrow("Reading .zst files")
        return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
    return raw


def pyarrow(purpose: str) -> Any:
    """Import and return a module of pyarrow."""
    try:
        import pyarrow as pa
    except ImportError as problem:
        raise ImportError(f'{purpose} needs pyarrow: pip install "driftsieve[files]"') from problem
    return pa


def quick_pyarrow(n_bytes: int) -> Any:
    """Return pyarrow if it is installed and faster for so many bytes, including its import."""
    if n_bytes < _SMALL and "pyarrow" not in sys.modules:
        return None
    try:
        return pyarrow("Reading text faster")
    except ImportError:
        return None
