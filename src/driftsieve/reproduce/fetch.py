"""Download of the paper's public data sets into the layout that `datasets` reads.

Downloads are written to `NAME.part` and resumed where they stopped. A file gets its name when it is
complete and its checksum, if one is known, is correct.
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from driftsieve.exceptions import DriftsieveError
from driftsieve.reproduce.newsgroups import build_news20

_CHUNK = 1 << 20
_TIMEOUT = 60  # seconds without a byte


class FetchError(DriftsieveError, OSError):
    """A data set could not be downloaded."""


@dataclass(frozen=True)
class Source:
    """Where a data set is published, and its layout in the data folder."""

    name: str
    url: str
    sha256: str | None = None
    """Checksum of the file at `url`, if known."""
    unpack: Callable[[Path, Path], None] | None = None
    """Function of the file and the folder of the data set; None if the file is the data set."""
    made: tuple[str, ...] = field(default=())
    """Files in the folder once the data set is complete."""


def fetch(source: Source, data: Path) -> Path:
    """Download a data set into its folder in `data`, unless it is there already."""
    folder = data / source.name
    made = source.made or (_file_name(source.url),)
    if all((folder / name).exists() for name in made):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    file = download(source.url, folder / _file_name(source.url), source.sha256)
    if source.unpack is not None:
        try:
            source.unpack(file, folder)
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, KeyError) as error:
            file.unlink()
            raise FetchError(
                f"{source.url} must be the known archive, got another one: {error}."
            ) from error
        if _file_name(source.url) not in made:
            file.unlink()
    return folder


def download(url: str, path: Path, sha256: str | None = None) -> Path:
    """Download `url` to `path`, and resume an earlier partial download."""
    if path.exists():
        return path
    part = path.with_name(path.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urlopen(request, timeout=_TIMEOUT) as reply:
            # A server without ranges sends all again, from the start.
            mode = "ab" if reply.status == HTTPStatus.PARTIAL_CONTENT else "wb"
            expected = _length(reply.headers.get("Content-Length"), have if mode == "ab" else 0)
            with part.open(mode) as file:
                shutil.copyfileobj(reply, file, _CHUNK)
    except HTTPError as error:
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:  # the part was whole already
            expected = None
        else:
            raise FetchError(
                f"{url} must be available, got {error.code} {error.reason}. Save the file as "
                f"{path}."
            ) from error
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise FetchError(
            f"{url} must be reachable, got: {reason}. With a connection, run this again: it "
            f"continues where it stopped. Without one, save the file as {path}."
        ) from error
    size = part.stat().st_size
    if expected is not None and size != expected:
        raise FetchError(
            f"{url} must have {expected} bytes, got {size}. Run this again: it continues there."
        )
    if sha256 is not None and (found := _sha256(part)) != sha256:
        part.unlink()
        raise FetchError(
            f"The SHA-256 of {url} must be {sha256}, got {found}. The file is damaged or has "
            "changed, and was deleted."
        )
    part.rename(path)
    return path


def _length(header: str | None, have: int) -> int | None:
    return None if header is None else have + int(header)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]


def _challenge_files(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{part}.{kind}" for part in ("train", "valid") for kind in _KINDS)


_KINDS = ("data", "labels")


def _unzip(archive: Path, folder: Path) -> None:
    """Extract the files of the feature selection challenge, wherever they are in the archive."""
    with zipfile.ZipFile(archive) as files:
        by_name = {_file_name(name): name for name in files.namelist()}
        for name in _challenge_files(folder.name):
            with files.open(by_name[name]) as source:
                _put(source, folder / name)


def _untar_days(archive: Path, folder: Path) -> None:
    """Extract Day0.svm to Day120.svm."""
    with tarfile.open(archive) as files:
        for member in files:
            name = _file_name(member.name)
            source = files.extractfile(member) if name.startswith("Day") else None
            if source is not None:
                _put(source, folder / name)


def _put(source: IO[bytes], path: Path) -> None:
    """Write a file completely or not at all."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        shutil.copyfileobj(source, file, _CHUNK)
    part.rename(path)


def _challenge(name: str, number: int) -> Source:
    url = f"https://archive.ics.uci.edu/static/public/{number}/{name}.zip"
    return Source(name, url, unpack=_unzip, made=_challenge_files(name))


def _matlab(name: str) -> Source:
    return Source(name, f"https://jundongl.github.io/scikit-feature/files/datasets/{name}.mat")


# None of these sites publishes checksums, and none is known from elsewhere for these very files.
_SOURCES = (
    _challenge("gisette", 170),
    _challenge("dexter", 168),
    _challenge("madelon", 171),
    _challenge("dorothea", 169),
    Source(
        "url",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/url/url_svmlight.tar.gz",
        unpack=_untar_days,
        made=("Day0.svm", "Day120.svm"),
    ),
    Source("kdd12", "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/kdd12.xz"),
    Source(
        "news20_dated",
        "http://qwone.com/~jason/20Newsgroups/20news-19997.tar.gz",
        unpack=build_news20,
        made=("X_csr.npz", "meta.npz"),
    ),
    _matlab("SMK_CAN_187"),
    _matlab("GLI_85"),
)
SOURCES: dict[str, Source] = {source.name: source for source in _SOURCES}
