# %% [markdown]
# # Spark: fading by time over any partitioning
#
# Orders of sixty days in a Spark DataFrame. Rows of a DataFrame have no order, so they fade by a
# column of times, which gives the same result however the rows are partitioned. Returns depended
# on the delivery time at first, and depend on the discount since the fiftieth day.

# %%
import os
import sys

import altair as alt
from pyspark.sql import SparkSession

from driftsieve.distributed.spark import screen

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers need driftsieve too
spark = SparkSession.builder.master("local[2]").getOrCreate()
orders = (
    spark.range(30_000)
    .selectExpr("*", "timestamp_seconds(1767225600 + id * 172) AS at", "rand(1) < 0.3 AS returned")
    .selectExpr(
        "at",
        "returned",
        "randn(2) + if(returned AND id < 25000, 1.0, 0.0) AS delivery_time",
        "randn(3) + if(returned AND id >= 25000, 1.0, 0.0) AS discount",
        "randn(4) AS price",
        "randn(5) AS distance",
    )
)

# %% [markdown]
# One call of `screen` per half-life. `None` counts all rows alike.

# %%
FEATURES = ["delivery_time", "discount", "price", "distance"]
rankings = {
    half_life: screen(orders, target="returned", features=FEATURES, time="at", half_life=half_life)
    .orderBy("rank")
    .collect()
    for half_life in (None, "3d")
}
for ranking in rankings.values():
    print(ranking[0].feature)
# -> delivery_time
# -> discount

# %%
values = [
    {"memory": half_life or "no fading", "feature": row.feature, "score": row.score}
    for half_life, ranking in rankings.items()
    for row in ranking
]
chart = (
    alt.Chart(alt.Data(values=values))
    .mark_bar()
    .encode(
        x=alt.X("score:Q").title("mutual information (nats)"),
        y=alt.Y("feature:N").sort(FEATURES).title(None),
        color=alt.Color("feature:N").legend(None),
        row=alt.Row("memory:N").sort(["no fading", "3d"]).title("half-life"),
    )
    .properties(width=400, height=110, title="What tells returned orders from kept ones?")
    .configure_axis(labelFontSize=12, titleFontSize=12)
    .configure_header(labelFontSize=12, titleFontSize=12)
)
chart.save("spark_days.svg")
