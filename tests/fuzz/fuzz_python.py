"""Coverage-guided fuzzing of one reader: python tests/fuzz/fuzz_python.py KIND [libFuzzer options].

Needs atheris (pip install atheris). ``make fuzz`` runs all kinds.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["driftsieve"]):
    from seeds import inputs
    from targets import TARGETS

if __name__ == "__main__":
    kind = sys.argv.pop(1)
    target = TARGETS[kind]
    corpus = Path(sys.argv[-1])
    if corpus.is_dir():
        for i, seed in enumerate(inputs(kind)):
            (corpus / f"seed-{i}").write_bytes(seed)
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
