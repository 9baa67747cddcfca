"""Benchmarks of driftsieve and other libraries: interleaved, in one process, one thread each."""

import os

# Before any of the peers is imported. Driftsieve has n_threads instead.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_name, "1")
