# %% [markdown]
# # river: one row at a time
#
# Rows are dictionaries, and sensors appear and disappear. The screener is a transformer like any
# other of river: it stands between the scaler and the model, and passes on the four features
# that matter now.

# %%
import altair as alt
import numpy as np
from river import linear_model, metrics, preprocessing, utils

from driftsieve.river import FeatureScreener


def rows(n=6000, n_noise=60, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n_noise))
    for i in range(n):
        x = {f"noise{j}": v for j, v in enumerate(values[i].tolist())}
        first, second = ("a", "b") if i < n // 2 else ("c", "d")
        y = bool(rng.random() < 0.5)
        for key in "abcd":
            x[key] = rng.normal() + (1.5 if y and key in (first, second) else 0.0)
        yield x, y


# %% [markdown]
# The same linear model with and without the screener, each row predicted before it is learned
# from.

# %%
screener = FeatureScreener("fisher", k=4, half_life="auto", every=100)
models = {
    "all 64 features": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "the best 4": preprocessing.StandardScaler() | screener | linear_model.LogisticRegression(),
}
rolling = {name: utils.Rolling(metrics.Accuracy, window_size=500) for name in models}
points = []
for i, (x, y) in enumerate(rows(), start=1):
    for name, model in models.items():
        rolling[name].update(y, model.predict_one(x) or False)
        model.learn_one(x, y)
        if i % 100 == 0 and i >= 500:
            points.append({"rows": i, "model": name, "accuracy": rolling[name].get()})

print(sorted(screener.selected[:2]))  # -> ['c', 'd']
print(rolling["the best 4"].get() > rolling["all 64 features"].get())  # -> True

# %%
chart = (
    alt.Chart(alt.Data(values=points))
    .mark_line(strokeWidth=2.5)
    .encode(
        x=alt.X("rows:Q").axis(tickCount=6),
        y=alt.Y("accuracy:Q").scale(zero=False).title("accuracy of the last 500 rows"),
        color=alt.Color("model:N").title(None),
    )
    .properties(width=460, height=240, title="A linear model of river, with and without selection")
    .configure_axis(labelFontSize=12, titleFontSize=12)
    .configure_legend(orient="top", labelFontSize=12, columnPadding=24)
)
chart.save("river_stream.svg")
