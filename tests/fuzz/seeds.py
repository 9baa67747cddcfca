"""Small valid states of every kind, for fuzzing and for the golden files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
from scipy import sparse

import driftsieve as ds
from driftsieve.cli.checkpoint import Checkpoint, Place
from driftsieve.history import ScoreHistory


def banks() -> Iterator[tuple[str, ds.Bank]]:
    """Banks of every clock, store and setting, small enough that a mutation hits something."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), np.array([0, 1, 2] * 8)
    holes = np.where(rng.random((24, 2)) < 0.2, np.nan, X)
    few = sparse.csr_array(np.where(rng.random((24, 4)) < 0.3, rng.integers(1, 4, (24, 4)), 0.0))
    weight, t = rng.uniform(0.5, 2.0, 24), np.arange(24.0) * 100.0
    yield "empty", ds.Bank()
    yield "dense", ds.Bank(0.1).update(X, y)
    yield "dense_weighted", ds.Bank(0.1, quantiles=False).update(X, y, sample_weight=weight)
    yield "dense_missing", ds.Bank(0.1, missing="ignore").update(holes, y)
    long_X, long_y = rng.normal(size=(1608, 1)), np.tile(y, 67)  # a block, and 8 rows
    yield "dense_block", ds.Bank(0.4).update(long_X, long_y)
    yield "dense_faded", ds.Bank(0.4, half_life=50.0).update(long_X, long_y)
    many = np.arange(1608) % 40  # most classes have no weight in most mini-bins
    yield "dense_classes", ds.Bank(0.2).update(long_X + 9.0 * many[:, None], many)
    yield "dense_time", ds.Bank(0.1, clock="time", half_life=3.0).update(X, y, time=t)
    yield "dense_batch", ds.Bank(0.1, clock="batch", decay=0.9, moments=False).update(X, y)
    yield "sparse", ds.Bank(0.1).update(few, y)
    yield "sparse_text", ds.Bank(0.1).update(few, np.array(["ham", "spam"] * 12))
    late = ds.Bank(0.1, clock="time", half_life=1.0).update(few, y, sample_weight=weight, time=t)
    yield "sparse_time", late
    merged = ds.Bank(0.4, half_life=9.0).update(few, y)
    yield "sparse_merged", merged.merge(ds.Bank(0.4, half_life=9.0).update(few, y), start=24)
    ladder = ds.Bank(0.4, half_life=[3.0, 6.0, None]).update(few, y)
    yield "sparse_ladder", ladder.update(few, y, sample_weight=weight)
    split = ds.Bank(0.4, missing="ignore").update(few * 1.5, y)
    nan = few.copy()
    nan.data[::3] = np.nan
    yield "sparse_missing", split.merge(ds.Bank(0.4, missing="ignore").update(nan, y))
    yield "sparse_moments", ds.Bank(quantiles=False).update(few, y)
    faded = ds.Bank(quantiles=False, missing="ignore", half_life=0.05)
    yield "sparse_moments_faded", faded.update(few, y).update(nan, y)


def histories() -> Iterator[tuple[str, ScoreHistory]]:
    """Histories without records, with some, and with so many that some were dropped."""
    for name, records in (("empty", 0), ("some", 3), ("thinned", 9)):
        history = ScoreHistory("t", k=1, margin=1, max_records=4, max_features=4, max_events=5)
        for i in range(records):
            history.record(i + 1.0, np.roll([3.0, 2.0, 1.0, 0.5, 0.25], i), list("abcde"))
        yield name, history


def screeners() -> Iterator[tuple[str, ds.FeatureScreener]]:
    """Screeners before and after they have learnt, with declared classes and without."""
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.array([0, 1] * 6)
    yield "fresh", ds.FeatureScreener(k=1)
    yield "fitted", ds.FeatureScreener("t", k=2, n_threads=1).fit(X, y)
    declared = ds.FeatureScreener(k=1, half_life=9.0, n_threads=1)
    yield "declared", declared.partial_fit(X, y, classes=[0, 1, 2])


def checkpoints() -> Iterator[tuple[str, Checkpoint]]:
    """A checkpoint of each kind of content."""
    bank = dict(banks())["dense"]
    yield "bank", Checkpoint(bank, Place(position=24, settings={"target": "y"}))
    place = Place(24, 1, ("row 3: bad",), values_ignored=2)
    yield "history", Checkpoint(bank, place, dict(histories())["some"])


STATES = {"bank": banks, "history": histories, "screener": screeners, "checkpoint": checkpoints}

_CSV = b"a,b,y\n1,red,0\n2.5,blue,1\n,red,0\n"
_FILES = {
    "csv": [
        _CSV,
        b"y;a\r\n1;'2'\r\n",
        b'"a\nb",y\n"1""2",x\n',
        b"\xef\xbb\xbfa,y\n1e999,0\n",
        b"1\t2.5\tred\t0\n2\t\tblue\t1\n",
        b"0.5;a b;1\r\n\r\nx;1\n",
    ],
    "jsonl": [b'{"a":1,"y":0}\n{"b":"x","y":1}\n', b'{"a":[1],"y":null}\n\n{', b"[]\n1\n"],
    "svmlight": [b"+1 1:0.5 3:2 # c\n-1 qid:3 2:1e3\n", b"0 4294967296:1\nx 1:1\n1 1:nan\n"],
    "compressed": [gzip.compress(_CSV, mtime=0), bz2.compress(_CSV), lzma.compress(_CSV)],
}


def _arrow_files(kind: str) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    if kind == "compressed":
        yield pa.Codec("zstd").compress(_CSV, asbytes=True)
        return
    words = pa.array(["u", "v"]).dictionary_encode()
    table = pa.table({"a": [1.0, None], "c": ["u", "v"], "d": words, "y": [0, 1]})
    days = pa.array([0, None], pa.date32())
    moments = pa.table({"t": pa.array([None, 1], pa.timestamp("s")), "d": days, "y": ["u", "v"]})
    cents = pa.array([None, Decimal("0.5")])
    others = pa.table({"i": [1, None], "m": cents, "b": [None, True], "y": [0, 1]})
    for part in (table, table.select(["a", "y"]), moments, others):
        for make in (ipc.new_file, ipc.new_stream) if kind == "arrow" else (parquet.ParquetWriter,):
            buffer = io.BytesIO()
            with make(buffer, part.schema) as writer:
                writer.write_table(part)
            yield buffer.getvalue()


def inputs(kind: str) -> Iterator[bytes]:
    """Bytes of the kind, valid or nearly so, from which fuzzing starts."""
    if kind in STATES:
        yield from (state.to_bytes() for _, state in STATES[kind]())
    else:
        yield from _FILES.get(kind, ())
        if kind in ("parquet", "arrow", "compressed"):
            yield from _arrow_files(kind)
