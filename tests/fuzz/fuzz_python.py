"""Fuzz one kind of input, guided by coverage: python fuzz_python.py KIND [libFuzzer's options].

Inputs that reached something new stay in build/fuzz-corpus/python-KIND. One that is neither refused
in words nor works, or takes more than 25 seconds or the memory it is given, is left in build/.
"""

import ctypes
import gc
import os
import resource
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FunctionType

import atheris
import pyarrow as pa
from mutations import mutated_header
from seeds import STATES, inputs
from targets import TARGETS, laid_open

ROOM = 256 << 20  # bytes that ten thousand inputs, of 4 KiB at most, may take together
TEXT = ("csv", "jsonl", "svmlight", "compressed")
WORDS = rb"""null true -1 0.5 1e999 NaN Infinity 9007199254740993 18446744073709551616 [] {} [[ ""
\\ud800 \\u0000 \\n "labels": "label_kind": "integers" "booleans" "strings" "feature_names":
"limits": "ignored": "max_features": "max_classes": "max_bytes": "inf" "on_limit": "ignore_new"
"kind": "parameters": "classes": "position": "rows_skipped": "reasons": "files": "settings":
"meta": "arrays": "<f8" "<i8" "trace": "selection": "names": qid: 1: nan inf \\t , ; # \xef\xbb\xbf
""".split()


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Half of the time a change of the JSON, else of the bytes."""
    changed = mutated_header(data, seed) if seed % 2 else data
    return atheris.Mutate(data, max_size) if changed == data else changed[:max_size]


def limit_room() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, resource.RLIM_INFINITY))


def within_room(target: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The target, its limit renewed now and then: atheris takes some bytes more with each input."""
    tried = count(1)

    def run(data: bytes) -> None:
        if next(tried) % 10_000 == 0:
            limit_room()
        target(data)

    return run


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def leave(_: int | None) -> None:
    """libFuzzer ends a good run with exit(), and Arrow's threads may then wait for ever."""
    os._exit(0)


if __name__ == "__main__":
    kind, options = sys.argv[1], sys.argv[2:]
    corpus = Path(f"build/fuzz-corpus/python-{kind}")
    corpus.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(inputs(kind)):
        (corpus / f"seed-{i}").write_bytes(data)
        if data.startswith(b"\x89DSV"):
            (corpus / f"open-{i}").write_bytes(laid_open(data))
    words = Path("build/fuzz-words")
    words.write_bytes(b"".join(b'"%s"\n' % word.replace(b'"', b'\\"') for word in WORDS))
    pa.enable_signal_handlers(False)  # else each csv starts a thread to wait for signals
    for data in inputs(kind):  # so that all that is imported late is there
        TARGETS[kind](data)
    limit_room()
    longest = 4096 if kind in STATES else 160 if kind in TEXT else 2048
    limits = [f"-max_len={longest}", "-len_control=100", "-timeout=25", "-rss_limit_mb=700"]
    files = ["-artifact_prefix=build/", f"-dict={words}", str(corpus)]
    command = [sys.argv[0], *limits, *options, *files]
    with_json = kind in STATES or kind == "jsonl"
    followed = "driftsieve" if kind in STATES else "driftsieve.sources"
    for thing in gc.get_objects():  # the imports of an editable install cannot be instrumented
        if isinstance(thing, FunctionType) and str(thing.__module__).startswith(followed):
            atheris.instrument_func(thing)
    gc.freeze()  # imported modules stay
    atheris.Setup(command, within_room(TARGETS[kind]), custom_mutator=mutate if with_json else None)
    ctypes.CDLL(None).__cxa_atexit(leave, None, None)  # the last to come is the first to be called
    atheris.Fuzz()
