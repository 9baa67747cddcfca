"""20 Newsgroups as rows of binary words and word pairs, ordered by the dates of the messages."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from email.utils import mktime_tz, parsedate_tz
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer


def build_news20(archive: Path, folder: Path) -> None:
    """Build `X_csr.npz` and `meta.npz` from the archive of the 19,997 messages.

    Headers except the date are left out, and so are terms of a single message and messages without
    a readable date.
    """
    messages = sorted(_messages(archive), key=lambda message: message[0])
    stamps, groups, bodies = zip(*messages, strict=True)
    names, y = np.unique(groups, return_inverse=True)
    words = CountVectorizer(binary=True, ngram_range=(1, 2), min_df=2, dtype=np.uint8)
    X = words.fit_transform(bodies)
    np.savez_compressed(
        folder / "meta.npz",
        y=y.astype(np.int8),
        timestamp=np.array(stamps, dtype=np.int64),
        groups=names,
    )
    sparse.save_npz(folder / "X_csr.npz", sparse.csr_array(X))


def _messages(archive: Path) -> Iterator[tuple[int, str, str]]:
    """Yield time, newsgroup and text of each message: files GROUP/NUMBER in any folder."""
    with tarfile.open(archive) as files:
        for member in files:
            file = files.extractfile(member)
            if file is None:
                continue
            header, _, body = file.read().decode("latin-1").partition("\n\n")
            stamp = _time(header)
            if stamp is not None:
                yield stamp, member.name.split("/")[-2], body


def _time(header: str) -> int | None:
    for line in header.splitlines():
        if line.lower().startswith("date:"):
            parsed = parsedate_tz(line[5:].strip())
            return None if parsed is None else int(mktime_tz(parsed))
    return None
