"""FeatureScreener: the scikit-learn estimator around a bank."""

from driftsieve.screener.core import FeatureScreener

__all__ = ["FeatureScreener"]
