"""DriftScreener, a stage of spark.ml pipelines: the counterpart of UnivariateFeatureSelector.

This module needs pyspark when it is imported, since a stage derives from its classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from driftsieve import select
from driftsieve.distributed.spark import screen
from driftsieve.scores import SCORES
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
"""Modes of selection, and their thresholds by default: those of UnivariateFeatureSelector."""


def _param(name: str, doc: str, converter: Any = TypeConverters.toString) -> Any:
    return Param(Params._dummy(), name, doc, converter)


class _ScreenerParams(HasFeaturesCol, HasLabelCol, HasOutputCol, HasWeightCol):
    score = _param("score", "t, fisher, mutual_info, chi2 or gini")
    selectionMode = _param("selectionMode", "numTopFeatures, percentile, fpr, fdr or fwe")
    selectionThreshold = _param(
        "selectionThreshold",
        "number of features, fraction of them, or highest p-value, as the mode has it",
        TypeConverters.toFloat,
    )
    nBins = _param("nBins", "quantile bins of a feature", TypeConverters.toInt)
    epsilon = _param("epsilon", "largest rank error", TypeConverters.toFloat)
    halfLife = _param("halfLife", "age at which a row weighs half", TypeConverters.toFloat)
    timeCol = _param("timeCol", "column of the times that rows fade by")
    orderCol = _param("orderCol", "column of the numbers that rows fade by")
    missing = _param("missing", "error, or ignore for NaN to count as missing")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(
            score="mutual_info",
            selectionMode="numTopFeatures",
            nBins=5,
            epsilon=0.01,
            missing="error",
        )

    def _given(self, name: str) -> Any:
        """The value of a param, or None where it has none."""
        return self.getOrDefault(name) if self.isDefined(name) else None


class DriftScreener(Estimator, _ScreenerParams, DefaultParamsReadable, DefaultParamsWritable):
    """Selects the features of a vector column by a screening score, with or without fading.

    Names and defaults are those of ``UnivariateFeatureSelector`` where it has them. ``fit`` gives
    a ``DriftScreenerModel``; what it computes, ``driftsieve.distributed.spark.screen`` describes.
    Rows fade by ``timeCol``, or else by their order in ``orderCol``.
    """

    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        outputCol: str | None = None,
        weightCol: str | None = None,
        score: str | None = None,
        selectionMode: str | None = None,
        selectionThreshold: float | None = None,
        nBins: int | None = None,
        epsilon: float | None = None,
        halfLife: float | None = None,
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
        score = self._given("score")
        if mode in ("fpr", "fdr", "fwe") and score in SCORES and SCORES[score].pvalues is None:
            raise ValueError(
                f"selectionMode={mode!r} needs p-values, and the score {score!r} has none."
            )
        ranking = screen(
            dataset,
            target=self.getLabelCol(),
            features=self.getFeaturesCol(),
            sample_weight=self._given("weightCol"),
            time=self._given("timeCol"),
            order=self._given("orderCol"),
            score=score,
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
    """What ``DriftScreener`` found: scores, pvalues (NaN where there are none) and ranks by index
    of the feature, and selectedFeatures, the indices that ``transform`` keeps.
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
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        return _ModelReader()


class _ModelWriter(MLWriter):
    """The params as spark.ml stores them; the arrays as Parquet, one row a feature."""

    def __init__(self, model: DriftScreenerModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
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
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        table = self.sparkSession.read.parquet(f"{path}/data").orderBy("feature").toArrow()
        columns = (table[name].to_numpy() for name in ("score", "pvalue", "rank", "selected"))
        scores, pvalues, ranks, selected = columns
        model = DriftScreenerModel(scores, pvalues, ranks, np.flatnonzero(selected).tolist())
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
