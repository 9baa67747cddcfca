"""Our work and that of others side by side: interleaved, in one process, one thread each."""

import os

# Before any of the peers is imported. Ours are told by n_threads.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_name, "1")
