"""Rewrite the seeds of the C++ bank fuzzer: python tests/fuzz/make_corpus.py."""

from pathlib import Path

from seeds import banks

from driftsieve._storage import envelope

CORPUS = Path(__file__).parents[2] / "cpp" / "fuzz" / "corpus" / "bank"

if __name__ == "__main__":
    CORPUS.mkdir(parents=True, exist_ok=True)
    for name, bank in banks():
        _, payload = envelope.unpack(bank.to_bytes(), "bank")
        (CORPUS / name).write_bytes(payload)
