"""DriftScreener, a stage of spark.ml pipelines: the counterpart of UnivariateFeatureSelector.

This module needs pyspark when it is imported, since a stage derives from its classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from driftsieve._state.settings import HalfLife, is_auto, seconds_of_duration, stored_half_life
from driftsieve.distributed.plan import LEARN_FIRST
from driftsieve.distributed.spark import screen
from driftsieve.scores import SCORES
from driftsieve.selection import functions as select
from driftsieve.snapshot import Floats

try:
    from pyspark.ml import Estimator, Model
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasOutputCol, HasWeightCol
    from pyspark.ml.util import (
        DefaultParamsReadable,
        DefaultParamsReader,
        DefaultParamsWritable,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
except ImportError as problem:
    raise ImportError(
        'DriftScreener needs pyspark: pip install "driftsieve[spark]"', name="pyspark"
    ) from problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

THRESHOLDS = {"numTopFeatures": 50.0, "percentile": 0.1, "fpr": 0.05, "fdr": 0.05, "fwe": 0.05}
"""Modes of selection and their default thresholds, as in UnivariateFeatureSelector."""


def _param(name: str, doc: str, converter: Any = TypeConverters.toString) -> Any:
    return Param(Params._dummy(), name, doc, converter)


def _to_half_life(value: Any) -> float | str:
    """Return a number, or a duration as text, which Spark can store."""
    if is_auto(value):
        raise ValueError(f'halfLife must be a number or a duration, got "auto". {LEARN_FIRST}')
    is_duration = seconds_of_duration(value) is not None
    return cast("str", stored_half_life(value)) if is_duration else TypeConverters.toFloat(value)


class _ScreenerParams(HasFeaturesCol, HasLabelCol, HasOutputCol, HasWeightCol):
    scoreFunc = _param("scoreFunc", "t, fisher, mutual_info, chi2 or gini")
    selectionMode = _param("selectionMode", "numTopFeatures, percentile, fpr, fdr or fwe")
    selectionThreshold = _param(
        "selectionThreshold",
        "number of features, fraction of them, or error rate, depending on the mode",
        TypeConverters.toFloat,
    )
    nBins = _param("nBins", "quantile bins of a feature", TypeConverters.toInt)
    epsilon = _param("epsilon", "largest rank error", TypeConverters.toFloat)
    halfLife = _param(
        "halfLife", "age at which a weight has halved: a number, or text such as 12h", _to_half_life
    )
    timeCol = _param("timeCol", "column of the times")
    orderCol = _param("orderCol", "column that defines the order of the rows")
    missing = _param("missing", "error, or ignore for NaN to count as missing")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(
            scoreFunc="mutual_info",
            selectionMode="numTopFeatures",
            nBins=5,
            epsilon=0.01,
            missing="error",
        )

    def _given(self, name: str) -> Any:
        """Return the value of a param, or None if it has none."""
        return self.getOrDefault(name) if self.isDefined(name) else None


class DriftScreener(Estimator, _ScreenerParams, DefaultParamsReadable, DefaultParamsWritable):
    """Select features of a vector column by a screening score, with or without fading.

    Names and defaults are those of ``UnivariateFeatureSelector`` where it has them. Rows fade by
    ``timeCol``, or by their order in ``orderCol``.

    Parameters
    ----------
    featuresCol : str
        Vector column of the features.
    labelCol : str
        Column of the labels.
    outputCol : str, optional
        Vector column of the selected features.
    weightCol : str, optional
        Column of the weights.
    scoreFunc : str, optional
        A key of ``driftsieve.scores.SCORES``. Default: ``"mutual_info"``.
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe"}, optional
        Default: ``"numTopFeatures"``.
    selectionThreshold : float, optional
        Number of features, fraction of them, or error rate, depending on the mode.
    nBins : int, optional
        Number of quantile bins. Default: 5.
    epsilon : float, optional
        Largest rank error. Default: 0.01.
    halfLife : float or str, optional
        Age at which a weight has halved.
    timeCol : str, optional
        Column of the times.
    orderCol : str, optional
        Column that defines the order of the rows.
    missing : {"error", "ignore"}, optional
        What a NaN is. Default: ``"error"``.

    See Also
    --------
    driftsieve.distributed.spark.screen : Computes the scores.
    DriftScreenerModel : The result of ``fit``.
    """

    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        outputCol: str | None = None,
        weightCol: str | None = None,
        scoreFunc: str | None = None,
        selectionMode: str | None = None,
        selectionThreshold: float | None = None,
        nBins: int | None = None,
        epsilon: float | None = None,
        halfLife: HalfLife | None = None,
        timeCol: str | None = None,
        orderCol: str | None = None,
        missing: str | None = None,
    ) -> None:
        given = dict(locals())
        super().__init__()
        names = [param.name for param in self.params]
        self._set(**{name: given[name] for name in names if given.get(name) is not None})

    def _fit(self, dataset: DataFrame) -> DriftScreenerModel:
        mode = self._given("selectionMode")
        if mode not in THRESHOLDS:
            raise ValueError(f"selectionMode must be one of {', '.join(THRESHOLDS)}, got {mode!r}.")
        score = self._given("scoreFunc")
        if mode in ("fpr", "fdr", "fwe") and score in SCORES and SCORES[score].pvalues is None:
            raise ValueError(
                f"scoreFunc must have p-values for selectionMode={mode!r}, got {score!r}. Use "
                "numTopFeatures or percentile, or another score."
            )
        ranking = screen(
            dataset,
            target=self.getLabelCol(),
            features=self.getFeaturesCol(),
            sample_weight=self._given("weightCol"),
            time=self._given("timeCol"),
            order=self._given("orderCol"),
            score_func=score,
            n_bins=self._given("nBins"),
            epsilon=self._given("epsilon"),
            half_life=self._given("halfLife"),
            missing=self._given("missing"),
        )
        table = cast("DataFrame", ranking).orderBy("feature").toArrow()
        scores, pvalues, ranks = (table[name].to_numpy() for name in ("score", "pvalue", "rank"))
        threshold = self._given("selectionThreshold")
        threshold = THRESHOLDS[mode] if threshold is None else threshold
        larger = SCORES[score].larger_is_better
        if mode == "numTopFeatures":
            support = select.top_k(scores, int(threshold), larger)
        elif mode == "percentile":
            support = select.percentile(scores, 100 * threshold, larger)
        else:
            support = getattr(select, mode)(pvalues, threshold)
        model = DriftScreenerModel(scores, pvalues, ranks, np.flatnonzero(support).tolist())
        self._copyValues(model)
        return model


class DriftScreenerModel(Model, _ScreenerParams, MLReadable, MLWritable):
    """The result of ``DriftScreener.fit``, which selects features.

    Parameters
    ----------
    scores, pvalues, ranks : ndarray of shape (n_features,)
        Scores, p-values (NaN if the score has none) and ranks by index of the feature.
    selectedFeatures : list of int
        Indices of the features that ``transform`` keeps.

    See Also
    --------
    DriftScreener : The estimator.
    """

    def __init__(
        self,
        scores: Floats,
        pvalues: Floats,
        ranks: NDArray[np.int64],
        selectedFeatures: list[int],
    ) -> None:
        super().__init__()
        self.scores, self.pvalues, self.ranks = scores, pvalues, ranks
        self.selectedFeatures = selectedFeatures

    def _transform(self, dataset: DataFrame) -> DataFrame:
        from pyspark.ml.feature import VectorSlicer

        if not self.selectedFeatures:
            raise ValueError(
                "No features were selected: either the data is too noisy or the "
                "selection test too strict."
            )
        output = self._given("outputCol")
        slicer = VectorSlicer(
            inputCol=self.getFeaturesCol(), outputCol=output, indices=self.selectedFeatures
        )
        return slicer.transform(dataset)

    def write(self) -> MLWriter:
        """Return a writer for this model."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader for models."""
        return _ModelReader()


class _ModelWriter(MLWriter):
    """Writes the params as spark.ml does, and the arrays as Parquet, one row per feature."""

    def __init__(self, model: DriftScreenerModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        """Write the model to a folder."""
        import pyarrow as pa

        model = self.model
        DefaultParamsWriter.saveMetadata(model, path, self.sparkSession)
        p = len(model.scores)
        table = pa.table(
            {
                "feature": np.arange(p),
                "score": model.scores,
                "pvalue": model.pvalues,
                "rank": model.ranks,
                "selected": np.isin(np.arange(p), model.selectedFeatures),
            }
        )
        self.sparkSession.createDataFrame(table).write.parquet(f"{path}/data")


class _ModelReader(MLReader):
    def load(self, path: str) -> DriftScreenerModel:
        """Read a model from a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        table = self.sparkSession.read.parquet(f"{path}/data").orderBy("feature").toArrow()
        columns = (table[name].to_numpy() for name in ("score", "pvalue", "rank", "selected"))
        scores, pvalues, ranks, selected = columns
        model = DriftScreenerModel(scores, pvalues, ranks, np.flatnonzero(selected).tolist())
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
