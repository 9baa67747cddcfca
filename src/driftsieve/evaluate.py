"""Prequential evaluation: every batch is first predicted, then learned from."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from driftsieve.batch import Batch, Missing
from driftsieve.frames import Backend, frame_of
from driftsieve.labels import labels_of
from driftsieve.scores.blocks import has_two_classes
from driftsieve.snapshot import Floats
from driftsieve.stability import jaccard, nogueira

_WINDOW = 10  # records that stability looks back on, as in ScoreHistory


def prequential(
    batches: Iterable[Batch | tuple[Any, Any]],
    screener: Any,
    learner: Any,
    *,
    every: int = 1000,
    classes: ArrayLike | None = None,
    update_screener: bool = True,
    backend: Backend = "pandas",
) -> Any:
    """Test, then train, batch by batch; returns a data frame of how it went.

    A batch is predicted by what was selected and learned before it came. Then the screener learns
    it, and the learner learns it with the features selected now. So the first batch is not
    predicted. While the screener has rows of fewer than two classes, or all others have faded away,
    nothing is selected or predicted: a learner of river learns with all features, and one of
    scikit-learn, which must always have the same ones, waits; it begins when its classes are known.
    A batch with other columns than those that the screener has learned is an error.

    Parameters
    ----------
    batches : iterable
        ``Batch`` objects, such as ``as_batches`` gives, or pairs of X and y.
    screener : FeatureScreener or None
        None for all features.
    learner : object
        A scikit-learn classifier with ``partial_fit``, which needs a screener that keeps the width
        (``output="mask"``); or a river classifier, whose features are named as those of the input,
        or x0, x1, ... where it has no names. Sample weights go to learners that take them.
    every : int
        A record is made when that many rows have come since the last one, and at the end.
    classes : array-like, optional
        All labels there will be, for scikit-learn; by default those of a learner that is fitted
        already, or else of the batches up to the first that brings a second class.
    update_screener : bool
        False for a screener that has been fitted before and shall stay as it is.
    backend : {"pandas", "polars", "pyarrow"}
        Which data frame.

    Returns
    -------
    DataFrame
        For each record the number of ``rows`` so far; ``accuracy`` and ``log_loss`` over the rows
        predicted since the record before (nan where there are none, or no probabilities);
        ``n_selected`` and ``selected``, the features; ``jaccard`` between this selection and that
        of the record before; ``stability`` of the last ten (Nogueira 2018).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from driftsieve import FeatureScreener
    >>> X = np.random.default_rng(0).normal(size=(3000, 8))
    >>> y = X[:, 2] > 0
    >>> stream = [(X[i : i + 100], y[i : i + 100]) for i in range(0, 3000, 100)]
    >>> screener = FeatureScreener("t", k=1, output="mask")
    >>> prequential(stream, screener, GaussianNB())[["rows", "accuracy", "selected"]].round(2)
       rows  accuracy selected
    0  1000      0.99     [x2]
    1  2000      0.98     [x2]
    2  3000      0.99     [x2]
    """
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every!r}.")
    if not (screener is None or _is_screener(screener)):
        raise TypeError(
            f"screener must be a driftsieve.FeatureScreener or None, got {type(screener)!r}: with "
            "a river learner too, for rows come in batches."
        )
    model = _River(learner) if hasattr(learner, "learn_one") else _Sklearn(learner, classes)
    if isinstance(model, _Sklearn) and update_screener:
        _check_mask(screener)
    log, choice = _Log(), None
    frame_of(log.columns, backend, "prequential")  # complains now, not after the stream
    for batch in _batches(batches, screener):
        if choice is not None:
            log.tested(*model.test(choice, batch), batch.sample_weight)
        if screener is not None and update_screener:
            screener.update_batch(batch)
        model.meet(batch)
        selects = screener is None or _can_select(screener)
        choice = None
        if selects or model.takes_any_features:
            latest = _Choice.of(screener if selects else None, batch)
            if model.train(latest, batch) and selects:
                choice = latest
        log.rows += batch.n_rows
        if log.rows - log.recorded >= every:
            log.record(choice)
    if log.rows > log.recorded:
        log.record(choice)
    return frame_of(log.columns, backend, "prequential")


def _batches(batches: Iterable[Any], screener: Any) -> Iterator[Batch]:
    missing: Missing = getattr(screener, "missing", "error")
    for batch in batches:
        if isinstance(batch, Batch):
            yield batch
        elif isinstance(batch, tuple | list) and len(batch) == 2:
            yield Batch.of(*batch, missing=missing)
        else:
            raise TypeError(
                "batches must give Batch objects or pairs of X and y, and gave an object of type "
                f"{type(batch).__name__}: for a single batch, pass [(X, y)]."
            )


def _is_screener(candidate: Any) -> bool:
    return hasattr(candidate, "update_batch") and hasattr(candidate, "get_support")


def _can_select(screener: Any) -> bool:
    from sklearn.utils.validation import check_is_fitted  # it brings in pandas where there is one

    check_is_fitted(screener)
    return has_two_classes(screener.bank_.freeze(features=slice(0)))


def _check_mask(screener: Any) -> None:
    if screener is not None and getattr(screener, "output", "mask") != "mask":
        raise ValueError(
            "A scikit-learn learner must find each feature in the same column as the selection "
            f'moves: the screener needs output="mask", and has {screener.output!r}.'
        )


class _Choice(NamedTuple):
    """The features selected after a batch; the screener does not change until the next one."""

    screener: Any
    support: NDArray[np.int64]
    names: list[str]
    n_features: int

    @classmethod
    def of(cls, screener: Any, batch: Batch) -> _Choice:
        if screener is None:
            support = np.arange(batch.n_features)
            names: Any = batch.feature_names
        else:
            support = screener.get_support(indices=True)
            names = getattr(screener, "feature_names_in_", batch.feature_names)
        chosen = [f"x{j}" if names is None else str(names[j]) for j in support]
        width = batch.n_features if screener is None else screener.n_features_in_
        return cls(screener, support, chosen, width)

    def transform(self, batch: Batch) -> Any:
        return batch.X if self.screener is None else self.screener.transform(batch)

    def rows(self, batch: Batch) -> Iterator[dict[str, float]]:
        """The selected features as dictionaries; of a sparse row, those that are not zero."""
        if self.screener is not None:
            self.screener._check_batch(batch)
        if isinstance(batch.X, np.ndarray):
            for row in batch.X[:, self.support].tolist():
                yield dict(zip(self.names, row, strict=True))
            return
        X = sparse.csr_array(batch.X)
        place = {int(j): name for j, name in zip(self.support, self.names, strict=True)}
        for low, high in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            entries = zip(X.indices[low:high].tolist(), X.data[low:high].tolist(), strict=True)
            yield {place[j]: value for j, value in entries if j in place}


class _Sklearn:
    """A scikit-learn classifier: a batch at a time."""

    takes_any_features = False

    def __init__(self, learner: Any, classes: ArrayLike | None) -> None:
        if not (hasattr(learner, "partial_fit") and hasattr(learner, "predict")):
            raise TypeError(
                f"{type(learner).__name__} cannot learn from a stream: give a scikit-learn "
                "classifier with partial_fit, or a river classifier."
            )
        self.learner = learner
        if classes is None:
            classes = getattr(learner, "classes_", None)
        self.classes = None if classes is None else np.unique(labels_of(classes))
        self.seen: set[Any] = set()  # labels, while the classes are not known
        self.has_learned = False
        self.weighted = "sample_weight" in inspect.signature(learner.partial_fit).parameters

    def test(self, choice: _Choice, batch: Batch) -> tuple[NDArray[np.bool_], Floats]:
        """Whether each row was predicted right, and the probability its label was given."""
        X = choice.transform(batch)
        if not batch.n_rows:  # scikit-learn refuses to predict, or learn, no rows
            return np.empty(0, np.bool_), np.empty(0)
        right = np.asarray(self.learner.predict(X) == batch.y)
        if not hasattr(self.learner, "predict_proba"):
            return right, np.full(batch.n_rows, math.nan)
        known = np.asarray(self.learner.classes_)
        column = np.searchsorted(known, batch.y).clip(max=len(known) - 1)
        given = self.learner.predict_proba(X)[np.arange(batch.n_rows), column]
        return right, np.where(known[column] == batch.y, given, 0.0)

    def meet(self, batch: Batch) -> None:
        """Notes the labels, whether or not the batch is learned."""
        if self.classes is None:
            self.seen.update(batch.y.tolist())

    def train(self, choice: _Choice, batch: Batch) -> bool:
        """False if nothing was learned so far, as the classes are not known or no rows came."""
        if self.classes is None:
            if len(self.seen) < 2:
                return False
            self.classes = np.unique(labels_of(list(self.seen)))
        unknown = np.setdiff1d(batch.y, self.classes)
        if unknown.size:
            raise ValueError(
                f"The labels {unknown.tolist()} are not among the classes {self.classes.tolist()} "
                "that the learner began with: pass classes=, all labels there will be."
            )
        weight = batch.sample_weight
        more = {} if weight is None or not self.weighted else {"sample_weight": weight}
        X = choice.transform(batch)
        if batch.n_rows:
            self.learner.partial_fit(X, batch.y, classes=self.classes, **more)
            self.has_learned = True
        return self.has_learned


class _River:
    """A river classifier: all rows of a batch are predicted, then all are learned, one by one."""

    takes_any_features = True

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.has_learned = False
        self.weighted = "w" in inspect.signature(learner.learn_one).parameters

    def test(self, choice: _Choice, batch: Batch) -> tuple[NDArray[np.bool_], Floats]:
        """Whether each row was predicted right, and the probability its label was given."""
        right = np.zeros(batch.n_rows, dtype=np.bool_)
        given = np.full(batch.n_rows, math.nan)
        for i, (x, y) in enumerate(zip(choice.rows(batch), batch.y.tolist(), strict=True)):
            right[i] = self.learner.predict_one(x) == y
            try:
                given[i] = self.learner.predict_proba_one(x).get(y, 0.0)
            except NotImplementedError:  # it has no probabilities
                continue
        return right, given

    def meet(self, batch: Batch) -> None:
        """It learns labels as they come."""

    def train(self, choice: _Choice, batch: Batch) -> bool:
        """False if no rows came so far."""
        weights = [1.0] * batch.n_rows if batch.sample_weight is None else batch.sample_weight
        for x, y, w in zip(choice.rows(batch), batch.y.tolist(), weights, strict=True):
            if self.weighted:
                self.learner.learn_one(x, y, w=float(w))
            else:
                self.learner.learn_one(x, y)
            self.has_learned = True
        return self.has_learned


class _Log:
    """What has been measured since the last record, and the records."""

    def __init__(self) -> None:
        self.rows = self.recorded = 0
        self.selections: list[NDArray[np.int64]] = []
        names = "rows accuracy log_loss n_selected selected jaccard stability"
        self.columns: dict[str, list[Any]] = {name: [] for name in names.split()}
        self._clear()

    def _clear(self) -> None:
        self.weight = self.right = self.loss = 0.0

    def tested(
        self, right: NDArray[np.bool_], given: Floats, weight: NDArray[np.float64] | None
    ) -> None:
        weight = np.ones(len(right)) if weight is None else weight
        self.weight += float(weight.sum())
        self.right += float(weight @ right)
        # a certainty that was wrong counts as the smallest probability there is, as in scikit-learn
        self.loss -= float(weight @ np.log(np.maximum(given, np.finfo(np.float64).eps)))

    def record(self, choice: _Choice | None) -> None:
        support = np.empty(0, dtype=np.int64) if choice is None else choice.support
        self.selections = [*self.selections[1 - _WINDOW :], support]
        before = self.selections[-2:-1]
        values = {
            "rows": self.rows,
            "accuracy": self.right / self.weight if self.weight else math.nan,
            "log_loss": self.loss / self.weight if self.weight else math.nan,
            "n_selected": len(support),
            "selected": [] if choice is None else choice.names,
            "jaccard": jaccard(before[0].tolist(), support.tolist()) if before else math.nan,
            "stability": nogueira(self.selections, choice.n_features) if choice else math.nan,
        }
        for name, value in values.items():
            self.columns[name].append(value)
        self.recorded = self.rows
        self._clear()
