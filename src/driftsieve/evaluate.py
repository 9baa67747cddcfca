"""Prequential evaluation: each batch is first predicted, then used for training."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from driftsieve._frames import Backend, frame_of
from driftsieve._rows.labels import labels_of
from driftsieve._rows.names import NumberedNames, name_of
from driftsieve._state.columns import Columns
from driftsieve.batch import Batch, Missing
from driftsieve.selection.stability import jaccard, nogueira
from driftsieve.snapshot import Floats

_WINDOW = 10  # records for the stability, as in ScoreHistory


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
    """Test, then train, batch by batch, and return a data frame of the results.

    Each batch is predicted by the model of the batches before it. Then the screener learns the
    batch, and the learner learns it with the features that are selected now. So the first batch is
    not predicted. A scikit-learn learner starts when its classes are known. While the screener has
    rows of one class only, it selects by index, with a warning (see ``FeatureScreener``). All
    batches must have the same columns in the same order, except with a river learner and no
    screener: that learner identifies features by name.

    Parameters
    ----------
    batches : iterable
        ``Batch`` objects, for example from ``as_batches``, or pairs of X and y.
    screener : FeatureScreener or None
        None selects all features.
    learner : object
        A scikit-learn classifier with ``partial_fit``, which needs a screener that keeps the width
        (``output="mask"``); or a river classifier, whose features have the names of the input, or
        x0, x1, ... if it has none. Learners that accept sample weights receive them.
    every : int
        Number of rows between records. There is also a record at the end.
    classes : array-like, optional
        All labels of the stream, for scikit-learn. Default: the classes of a learner that is
        already fitted, or else those of the batches up to the first that contains a second class.
    update_screener : bool
        False for a fitted screener that must not change.
    backend : {"pandas", "polars", "pyarrow"}
        The library of the data frame.

    Returns
    -------
    DataFrame
        For each record the number of ``rows`` so far; ``accuracy`` and ``log_loss`` of the rows
        predicted since the record before (NaN if there are none, or no probabilities);
        ``n_selected`` and ``selected``, the features; ``jaccard``, the overlap of this selection
        with that of the record before; ``stability`` of the last ten selections (Nogueira 2018).

    Raises
    ------
    TypeError
        If the learner or the screener is of another kind.
    ValueError
        If columns or classes change.

    See Also
    --------
    driftsieve.FeatureScreener : Selects the features.
    driftsieve.learners.SparseFSA : A learner that selects features itself.

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
            f"screener must be a driftsieve.FeatureScreener or None, got {type(screener)!r}. That "
            "also holds with a river learner, because rows come in batches."
        )
    model = _River(learner) if hasattr(learner, "learn_one") else _Sklearn(learner, classes)
    if isinstance(model, _Sklearn) and update_screener:
        _check_mask(screener)
    log, choice, columns = _Log(), None, None
    frame_of(log.columns, backend, "prequential")  # raises now, not after the stream
    for batch in _batches(batches, screener):
        if screener is None:  # a screener checks the columns itself
            columns = columns or Columns.of(batch)
            model.check_columns(columns, Columns.of(batch))
            choice = choice and _Choice.of(None, batch)
        if choice is not None:
            log.tested(*model.test(choice, batch), batch.sample_weight)
        if screener is not None and update_screener:
            screener.partial_fit(batch)
        latest = _Choice.of(screener, batch)
        choice = latest if model.train(latest, batch) else None
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
                "batches must contain Batch objects or pairs of X and y, got an object of type "
                f"{type(batch).__name__}. For a single batch, pass [(X, y)]."
            )


def _is_screener(candidate: Any) -> bool:
    return hasattr(candidate, "partial_fit") and hasattr(candidate, "get_support")


def _check_mask(screener: Any) -> None:
    if screener is not None and getattr(screener, "output", "mask") != "mask":
        raise ValueError(
            f'The screener must have output="mask" for a scikit-learn learner, got '
            f"{screener.output!r}. Then each feature keeps its column when the selection changes."
        )


class _Choice(NamedTuple):
    """The features selected after a batch. The screener does not change until the next batch."""

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
            names = batch.feature_names
            if not isinstance(names, NumberedNames):  # of which there may be millions
                names = getattr(screener, "feature_names_in_", names)
        chosen = [name_of(int(j), names) for j in support]
        width = batch.n_features if screener is None else screener.n_features_in_
        return cls(screener, support, chosen, width)

    def transform(self, batch: Batch) -> Any:
        return batch.X if self.screener is None else self.screener.transform(batch)

    def rows(self, batch: Batch) -> Iterator[dict[str, float]]:
        """Yield the selected features as dictionaries, without the zeros of sparse rows."""
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


def _no_classifier(learner: Any) -> TypeError:
    return TypeError(
        f"learner must be a classifier, got the regressor {type(learner).__name__}. Use a "
        "classifier of scikit-learn (with partial_fit) or river."
    )


class _Sklearn:
    """A scikit-learn classifier, one batch at a time."""

    def __init__(self, learner: Any, classes: ArrayLike | None) -> None:
        from sklearn.base import RegressorMixin  # it imports pandas if installed

        if not (hasattr(learner, "partial_fit") and hasattr(learner, "predict")):
            raise TypeError(
                "learner must have partial_fit or learn_one, got an object of type "
                f"{type(learner).__name__}. Use a classifier of scikit-learn (with partial_fit) or "
                "river."
            )
        if isinstance(learner, RegressorMixin):
            raise _no_classifier(learner)
        self.learner = learner
        if classes is None:
            classes = getattr(learner, "classes_", None)
        self.classes = None if classes is None else np.unique(labels_of(classes))
        self.seen: set[Any] = set()  # labels, until the classes are known
        self.has_learned = False
        self.weighted = "sample_weight" in inspect.signature(learner.partial_fit).parameters

    def check_columns(self, known: Columns, columns: Columns) -> None:
        """Raise ValueError if the columns are not those of the first batch, in their order."""
        known.check(columns)

    def test(self, choice: _Choice, batch: Batch) -> tuple[NDArray[np.bool_], Floats]:
        """Return whether each row was predicted correctly, and the probability of its label."""
        X = choice.transform(batch)
        if not batch.n_rows:  # scikit-learn rejects empty batches
            return np.empty(0, np.bool_), np.empty(0)
        right = np.asarray(self.learner.predict(X) == batch.y)
        if not hasattr(self.learner, "predict_proba"):
            return right, np.full(batch.n_rows, math.nan)
        known = np.asarray(self.learner.classes_)
        column = np.searchsorted(known, batch.y).clip(max=len(known) - 1)
        given = self.learner.predict_proba(X)[np.arange(batch.n_rows), column]
        return right, np.where(known[column] == batch.y, given, 0.0)

    def train(self, choice: _Choice, batch: Batch) -> bool:
        """Learn a batch. Return False if nothing was learned yet: no rows, or unknown classes."""
        if self.classes is None:
            self.seen.update(batch.y.tolist())
            if len(self.seen) < 2:
                return False
            self.classes = np.unique(labels_of(list(self.seen)))
        unknown = np.setdiff1d(batch.y, self.classes)
        if unknown.size:
            raise ValueError(
                f"Labels must be among the first classes {self.classes.tolist()}, got "
                f"{unknown.tolist()}. Pass all labels of the stream as classes."
            )
        weight = batch.sample_weight if self.weighted else None
        more = {} if weight is None else {"sample_weight": weight}
        X = choice.transform(batch)
        if batch.n_rows and (weight is None or weight.any()):  # scikit-learn rejects others
            self.learner.partial_fit(X, batch.y, classes=self.classes, **more)
            self.has_learned = True
        return self.has_learned


class _River:
    """A river classifier: all rows of a batch are predicted, then all are learned, one by one."""

    def __init__(self, learner: Any) -> None:
        base = sys.modules.get("river.base")  # loaded if the learner is one of river
        last = [learner, *getattr(learner, "steps", {}).values()][-1]  # of a pipeline
        if base is not None and isinstance(last, base.Regressor):
            raise _no_classifier(last)
        self.learner = learner
        self.has_learned = False
        self.weighted = "w" in inspect.signature(learner.learn_one).parameters

    def check_columns(self, known: Columns, columns: Columns) -> None:
        """Raise ValueError unless all batches have feature names, or none has."""
        if (known.names is None) != (columns.names is None):
            raise ValueError(
                "Either all batches or none must have feature names, got some with and some "
                "without. Pass names with every batch."
            )

    def test(self, choice: _Choice, batch: Batch) -> tuple[NDArray[np.bool_], Floats]:
        """Return whether each row was predicted correctly, and the probability of its label."""
        right = np.zeros(batch.n_rows, dtype=np.bool_)
        given = np.full(batch.n_rows, math.nan)
        for i, (x, y) in enumerate(zip(choice.rows(batch), batch.y.tolist(), strict=True)):
            right[i] = self.learner.predict_one(x) == y
            try:
                given[i] = self.learner.predict_proba_one(x).get(y, 0.0)
            except NotImplementedError:  # no probabilities
                continue
        return right, given

    def train(self, choice: _Choice, batch: Batch) -> bool:
        """Learn a batch. Return False if there were no rows yet."""
        weights = [1.0] * batch.n_rows if batch.sample_weight is None else batch.sample_weight
        for x, y, w in zip(choice.rows(batch), batch.y.tolist(), weights, strict=True):
            if self.weighted:
                self.learner.learn_one(x, y, w=float(w))
            else:
                self.learner.learn_one(x, y)
            self.has_learned = True
        return self.has_learned


class _Log:
    """The results since the last record, and the records."""

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
        # As in scikit-learn, a probability of 0 counts as the smallest positive one.
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
