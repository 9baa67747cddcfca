"""DriftScreener as a stage of spark.ml pipelines."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_rows import rows
from numpy.testing import assert_array_equal

import driftsieve as ds

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    """Columns x0 to x7, label and n; and features, the vector of the columns."""
    from pyspark.ml.feature import VectorAssembler

    data = rows(0)
    label = (data.y == "ham").astype(float)
    names = [f"x{j}" for j in range(8)]
    tuples = [
        (*x, y, i) for i, (x, y) in enumerate(zip(data.X.tolist(), label.tolist(), strict=True))
    ]
    df = spark.createDataFrame(tuples, [*names, "label", "n"])
    return VectorAssembler(inputCols=names, outputCol="features").transform(df)


def expected(score: str, **settings: Any) -> Any:
    data = rows(0)
    snap = ds.Bank(**settings).update(data.X, data.y == "ham").snapshot()
    return ds.scores.SCORES[score].function(snap)


def test_the_best_features_are_kept(frame: Any) -> None:
    from driftsieve.distributed.spark_ml import DriftScreener

    screener = DriftScreener(
        outputCol="few", scoreFunc="t", selectionThreshold=3, halfLife=60.0, orderCol="n"
    )
    model = screener.fit(frame)
    scores = expected("t", half_life=60.0)
    np.testing.assert_allclose(model.scores, scores, rtol=1e-9)
    best = sorted(np.argsort(-scores, kind="stable")[:3].tolist())
    assert model.selectedFeatures == best
    assert_array_equal(np.flatnonzero(model.ranks <= 3), best)
    few = model.transform(frame).orderBy("n").select("few").collect()
    assert_array_equal([row.few.toArray() for row in few], rows(0).X[:, best])


def test_modes_are_those_of_spark(frame: Any) -> None:
    from pyspark.ml.feature import UnivariateFeatureSelector

    from driftsieve.distributed.spark_ml import DriftScreener

    theirs = (
        UnivariateFeatureSelector(
            featuresCol="features", labelCol="label", selectionMode="fdr", outputCol="theirs"
        )
        .setFeatureType("continuous")
        .setLabelType("categorical")
    )
    theirs.setSelectionThreshold(0.01)
    # the F-test, in both
    ours = DriftScreener(scoreFunc="fisher", selectionMode="fdr", selectionThreshold=0.01)
    fitted = ours.fit(frame)
    assert fitted.selectedFeatures == sorted(theirs.fit(frame).selectedFeatures)
    assert 0 < len(fitted.selectedFeatures) < 8
    quarter = ours.copy({ours.selectionMode: "percentile", ours.selectionThreshold: 0.25})
    assert quarter.fit(frame).selectedFeatures == np.flatnonzero(fitted.ranks <= 2).tolist()


def test_a_pipeline_is_saved_and_loaded(frame: Any, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.classification import LogisticRegression

    from driftsieve.distributed.spark_ml import DriftScreener, DriftScreenerModel

    screener = DriftScreener(outputCol="few", scoreFunc="gini", selectionThreshold=2, epsilon=0.001)
    pipeline = Pipeline(stages=[screener, LogisticRegression(featuresCol="few", maxIter=2)])
    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    again = Pipeline.load(str(tmp_path / "pipeline"))
    assert isinstance(again.getStages()[0], DriftScreener)
    assert again.getStages()[0].extractParamMap() == screener.extractParamMap()

    model = again.fit(frame)
    model.save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    stage, before = loaded.stages[0], model.stages[0]
    assert isinstance(stage, DriftScreenerModel)
    assert stage.uid == before.uid
    assert stage.extractParamMap() == before.extractParamMap()
    assert stage.selectedFeatures == before.selectedFeatures
    for name in ("scores", "pvalues", "ranks"):
        assert_array_equal(getattr(stage, name), getattr(before, name))
    assert np.isnan(stage.pvalues).all()
    np.testing.assert_allclose(stage.scores, expected("gini", epsilon=0.001), rtol=1e-9)
    probabilities = [m.transform(frame).select("probability").collect() for m in (model, loaded)]
    assert probabilities[0] == probabilities[1]


def test_bad_settings_are_an_error(frame: Any) -> None:
    from driftsieve.distributed.spark_ml import DriftScreener

    with pytest.raises(ValueError, match=r"selectionMode must be one of numTopFeatures, .* 'best'"):
        DriftScreener(selectionMode="best").fit(frame)
    with pytest.raises(
        ValueError, match="scoreFunc must have p-values for selectionMode='fpr', got 'gini'"
    ):
        DriftScreener(selectionMode="fpr", scoreFunc="gini").fit(frame)
    with pytest.raises(ValueError, match="score_func must be one of"):
        DriftScreener(scoreFunc="mi").fit(frame)
    with pytest.raises(ValueError, match=r'halfLife must be .*, got "auto"\. .* Fit Feature'):
        DriftScreener(halfLife="auto")
    model = DriftScreener(scoreFunc="t", selectionThreshold=0).fit(frame)
    with pytest.raises(ValueError, match="No features were selected"):
        model.transform(frame)


@pytest.mark.usefixtures("frame")
def test_half_lives_may_be_durations() -> None:
    from driftsieve.distributed.spark_ml import DriftScreener

    for duration in ("2d", timedelta(days=2)):
        screener = DriftScreener(halfLife=duration)
        assert screener.getOrDefault(screener.halfLife) == "172800.0s"
    screener = DriftScreener(halfLife=60)
    assert screener.getOrDefault(screener.halfLife) == 60.0
