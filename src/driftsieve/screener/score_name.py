"""The parameter ``score`` of an estimator whose users, and tools, may also call ``score(X, y)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from driftsieve.batch import Batch, check_readable
from driftsieve.scores import SCORES

if TYPE_CHECKING:
    from driftsieve.screener.core import FeatureScreener


class ScoreName(str):
    """The name of a score that can be called like scikit-learn's method ``score``.

    Pipelines, searches and the estimator checks take an attribute of this name for a method.
    """

    __slots__ = ("screener",)
    screener: FeatureScreener

    def __call__(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Mean score that the selected features have on these rows, unfaded; Gini with a minus,
        so that greater is better. Columns are those that ``transform`` looks at. X may be a
        ``Batch``, too, whose weights count where no others are given.
        """
        support = self.screener.get_support()
        if isinstance(X, Batch):
            if sample_weight is None:
                sample_weight = X.sample_weight
            X = self.screener._rows_of(X)
        else:
            check_readable(X)
            self.screener._check_columns(X)
        if not support.any():
            raise ValueError(
                f"No feature is selected (rule={self.screener.rule!r}, k={self.screener.k!r}), so "
                "there is nothing to score."
            )
        judge = clone(self.screener).set_params(alpha=1.0, half_life=None, clock="sample")
        X = self.screener._with_known_columns(X)
        scores = judge.fit(X, y, sample_weight=sample_weight).scores_[support]
        return float(scores.mean() if SCORES[self].larger_is_better else -scores.mean())

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


class ScoreParameter:
    """Descriptor: what is stored is just what was set, as ``clone`` and ``get_params`` need."""

    def __get__(self, screener: FeatureScreener | None, owner: type) -> Any:
        if screener is None:
            return self
        try:
            value = vars(screener)["score"]
        except KeyError as error:
            raise AttributeError("score") from error
        if not isinstance(value, str):
            return value
        name = ScoreName(value)
        name.screener = screener
        return name

    def __set__(self, screener: FeatureScreener, value: Any) -> None:
        screener.__dict__["score"] = value
