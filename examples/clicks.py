# %% [markdown]
# # Clicks by time: a memory in days, not in rows
#
# A log of three weeks of advertisements: many by day, few by night. With `clock="time"` a row
# ages by its timestamp, however many rows come in between, and rows may arrive late. On the
# eleventh day a sports event begins: until then people click by price, then by site.

# %%
import altair as alt
import numpy as np
import pandas as pd

import driftsieve as ds

SITES = ["news", "sport", "weather", "music", "games"]


def log(seed=0):
    rng = np.random.default_rng(seed)
    hours = np.arange(21 * 24)
    busy = 60 - 50 * np.cos(2 * np.pi * (hours % 24) / 24)  # few rows by night
    hour = np.repeat(hours, rng.poisson(busy))
    n = len(hour)
    at = pd.Timestamp("2026-06-01") + pd.to_timedelta(hour * 3600 + rng.integers(0, 3600, n), "s")
    frame = pd.DataFrame({"at": at, "site": rng.choice(SITES, n), "price": rng.gamma(2.0, 10.0, n)})
    frame["position"] = rng.integers(1, 6, n)
    frame["viewport"] = rng.normal(1200, 300, n)
    event = hour >= 10 * 24
    chance = np.where(event, 0.15 + 0.5 * (frame["site"] == "sport"), 0.6 * (frame["price"] < 15))
    frame["click"] = rng.random(n) < 0.1 + 0.8 * chance
    return frame.sort_values("at", ignore_index=True)


# %% [markdown]
# The half-lives to choose from follow from the first rows; `memory_` states the learned memory
# in units of time. Scores are recorded after every 750 rows, about half a day.

# %%
screener = ds.FeatureScreener(
    "mutual_info", k=1, half_life="auto", clock="time", new_features="grow"
)
scores, DAY = [], 86_400
clicks = log()
n_rows = 0
for batch in ds.as_batches(clicks, target="click", time="at", categorical=["site"], batch_size=750):
    screener.partial_fit(batch)
    n_rows = min(n_rows + 750, len(clicks))
    scores += [
        {"at": f"{clicks['at'][n_rows - 1]:%Y-%m-%dT%H:%M}", "feature": name, "score": score}
        for name, score in zip(screener.feature_names_in_, screener.scores_, strict=True)
    ]

print(screener.get_feature_names_out())  # -> ['site=sport']
print(screener.memory_.unit, screener.memory_.half_life < 10 * DAY)  # -> seconds True

# %%
chart = (
    alt.Chart(alt.Data(values=scores))
    .mark_line(strokeWidth=2)
    .encode(
        x=alt.X("at:T").title(None).axis(format="%d %b", tickCount=5),
        y=alt.Y("score:Q").title("mutual information (nats)"),
        color=alt.Color("feature:N").title(None).legend(columns=4),
    )
    .properties(width=460, height=240, title="What decides a click?")
    .configure_axis(labelFontSize=12, titleFontSize=12)
    .configure_legend(orient="top", labelFontSize=12, columnPadding=24)
)
chart.save("clicks.svg")
