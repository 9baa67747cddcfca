"""Stored states: the envelope, atomic writes and locks, fingerprints of files."""
