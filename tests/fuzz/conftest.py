"""Scripts to be run, not modules to be looked through for doctests."""

collect_ignore = ["fuzz_python.py", "make_corpus.py"]
