"""Driftsieve: which features of a labelled data stream matter now."""

from importlib.metadata import version

__version__ = version("driftsieve")

__all__ = ["__version__"]
