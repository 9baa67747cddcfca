"""Doctests of modules that derive from an optional package's classes need that package."""

from importlib.util import find_spec

NEEDS = {"driftsieve/distributed/spark_ml.py": "pyspark", "driftsieve/river": "river"}

collect_ignore = [path for path, package in NEEDS.items() if find_spec(package) is None]
