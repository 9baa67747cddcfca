"""Stored states: the envelope, atomic writes, locks and fingerprints of files."""
