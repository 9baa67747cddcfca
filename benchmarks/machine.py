"""The machine and the versions that figures were measured with."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "datasketches",
    "xgboost",
    "river",
    "polars",
    "pandas",
    "pyarrow",
    "pyspark",
)


def describe() -> dict[str, str]:
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {_memory()}",
        "kernels": os.environ.get("DRIFTSIEVE_SIMD", "the fastest that the machine has"),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {_version(name)}" for name in ("driftsieve", *PACKAGES)),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "load": f"{os.getloadavg()[0]:.1f} before the first round",
    }


def _processor() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    fields = dict(line.split("\t", 1) for line in info if "\t" in line)
    name = fields.get("model name", ":").partition(":")[2].strip() or platform.machine()
    flags = fields.get("flags", "").split()
    widest = next((flag for flag in ("avx512f", "avx2") if flag in flags), "no AVX2")
    return f"{name} ({widest})"


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
