"""Screening with Spark and Dask."""
