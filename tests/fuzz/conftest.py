"""Scripts to be run, not modules to be searched for doctests."""

collect_ignore = ["fuzz_python.py", "make_corpus.py"]
