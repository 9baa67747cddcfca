"""Fetching, against a server of our own on this machine."""

import gzip
import hashlib
import io
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from driftsieve.reproduce import datasets
from driftsieve.reproduce.fetch import SOURCES, FetchError, Source, download, fetch
from driftsieve.reproduce.newsgroups import build_news20


class Site:
    """Files by path; `cut` breaks the next transfer off after so many bytes."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut: int | None = None
        self.ranges = True
        self.asked: list[str | None] = []
        self.address = ""


@pytest.fixture
def site() -> Iterator[Site]:
    state = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append(wanted)
            body = state.files.get(self.path)
            if body is None:
                self.send_error(404)
                return
            begin = 0
            if wanted and state.ranges:
                begin = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])  # type: ignore[index]
                if begin >= len(body):
                    self.send_error(416)
                    return
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(body) - begin))
            self.end_headers()
            self.wfile.write(body[begin : None if state.cut is None else begin + state.cut])
            state.cut = None

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


BODY = bytes(range(256)) * 40


def test_a_file_is_downloaded_once(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = BODY
    sha = hashlib.sha256(BODY).hexdigest()
    for _ in range(2):
        path = download(f"{site.address}/a.bin", tmp_path / "a.bin", sha)
        assert path.read_bytes() == BODY
    assert site.asked == [None]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ranges", [True, False])
def test_download_resumes_where_it_stopped(site: Site, tmp_path: Path, ranges: bool) -> None:
    site.files["/a.bin"], site.cut, site.ranges = BODY, 1000, ranges
    url, path = f"{site.address}/a.bin", tmp_path / "a.bin"
    with pytest.raises(FetchError, match="must have 10240 bytes, got 1000"):
        download(url, path)
    assert not path.exists()
    assert download(url, path).read_bytes() == BODY
    assert site.asked == [None, "bytes=1000-"]


def test_complete_partial_download_is_accepted(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = BODY
    (tmp_path / "a.bin.part").write_bytes(BODY)
    sha = hashlib.sha256(BODY).hexdigest()
    assert download(f"{site.address}/a.bin", tmp_path / "a.bin", sha).read_bytes() == BODY


def test_wrong_checksum_is_deleted(site: Site, tmp_path: Path) -> None:
    site.files["/a.bin"] = BODY
    with pytest.raises(FetchError, match=r"must be 0{64}, got [0-9a-f]{64}"):
        download(f"{site.address}/a.bin", tmp_path / "a.bin", "0" * 64)
    assert not list(tmp_path.iterdir())


def test_missing_files_and_unreachable_hosts_are_an_error(site: Site, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="must be available, got 404"):
        download(f"{site.address}/none", tmp_path / "none")
    with pytest.raises(
        FetchError, match=r"must be reachable, got: .*Without one, save the file as"
    ):
        download("http://127.0.0.1:9/closed", tmp_path / "closed")
    assert not list(tmp_path.iterdir())


def zipped(files: dict[str, str]) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return memory.getvalue()


def tarred(files: dict[str, str]) -> bytes:
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode("latin-1"))
            archive.addfile(info, io.BytesIO(text.encode("latin-1")))
    return memory.getvalue()


def local(site: Site, name: str, body: bytes) -> Source:
    """The real source, at our address."""
    real = SOURCES[name]
    path = "/" + real.url.rpartition("/")[2]
    site.files[path] = body
    return Source(real.name, site.address + path, real.sha256, real.unpack, real.made)


def test_challenge_archives_are_read_back(site: Site, tmp_path: Path) -> None:
    archive = {
        "MADELON/madelon_train.data": "1 2 3\n4 5 6\n",
        "MADELON/madelon_train.labels": "-1\n1\n",
        "MADELON/madelon_valid.data": "7 8 9\n",
        "madelon_valid.labels": "1\n",
    }
    source = local(site, "madelon", zipped(archive))
    for _ in range(2):
        fetch(source, tmp_path)
    assert len(site.asked) == 1
    X, y = datasets.madelon(tmp_path)
    assert X.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert y.tolist() == [-1, 1, 1]
    assert not (tmp_path / "madelon/madelon.zip").exists()


def test_dorothea_lists_the_columns_that_are_one(site: Site, tmp_path: Path) -> None:
    archive = {
        "DOROTHEA/dorothea_train.data": "1 100000\n\n",
        "DOROTHEA/dorothea_train.labels": "1\n-1\n",
        "DOROTHEA/dorothea_valid.data": "2 \n",
        "dorothea_valid.labels": "1\n",
    }
    fetch(local(site, "dorothea", zipped(archive)), tmp_path)
    X, y = datasets.dorothea(tmp_path)
    assert X.shape == (3, 100_000)
    assert [row.indices.tolist() for row in X] == [[0, 99_999], [], [1]]
    assert y.tolist() == [1, -1, 1]


def test_days_of_url_are_read_from_the_archive(site: Site, tmp_path: Path) -> None:
    files = {f"url_svmlight/Day{day}.svm": f"+1 {day + 1}:1\n" for day in (0, 120)}
    fetch(local(site, "url", tarred({**files, "url_svmlight/FeatureTypes": "x"})), tmp_path)
    (first, _), (last, y) = datasets.url_days(tmp_path)
    assert first.indices.tolist() == [0]
    assert last.indices.tolist() == [120]
    assert y.tolist() == [1]


def test_kdd12_is_read_from_svmlight(site: Site, tmp_path: Path) -> None:
    import lzma

    fetch(local(site, "kdd12", lzma.compress(b"1 3:1 7:1\n0 2:1\n")), tmp_path)
    X, y = datasets.kdd12(tmp_path)
    assert [row.indices.tolist() for row in X] == [[2, 6], [1]]
    assert y.tolist() == [1, 0]


def test_invalid_archive_is_reported(site: Site, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="must be the known archive"):
        fetch(local(site, "madelon", b"<html>moved</html>"), tmp_path)
    with pytest.raises(FetchError, match="must be the known archive"):
        fetch(local(site, "url", gzip.compress(b"no tar")), tmp_path)


def message(date: str, body: str) -> str:
    return f"From: someone\nDate: {date}\n\n{body}"


def test_newsgroups_in_order_of_date(tmp_path: Path) -> None:
    archive = tmp_path / "news.tar.gz"
    archive.write_bytes(
        tarred(
            {
                "20_newsgroups/sci.space/1": message("Tue, 6 Apr 1993 10:00:00 GMT", "moon shot"),
                "20_newsgroups/rec.autos/2": message("5 Apr 93 10:00:00 GMT", "fast car, moon"),
                "20_newsgroups/sci.space/3": message(
                    "Tue, 6 Apr 1993 05:30:00 -0500", "Moon shot!"
                ),
                "20_newsgroups/sci.space/4": "From: no date\n\nmoon shot",
            }
        )
    )
    folder = tmp_path / "news20_dated"
    folder.mkdir()
    build_news20(archive, folder)
    X, y = datasets.news20_binary(tmp_path)
    assert y.tolist() == [0, 1, 1]
    assert sparse.issparse(X)
    # "moon", "moon shot", "shot": the terms of at least two messages.
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 0], [1, 1, 1], [1, 1, 1]])
    stamps = datasets.news20_dated(tmp_path)[2]["timestamp"]
    assert np.all(np.diff(stamps) > 0)
