# %% [markdown]
# # Sensors: a machine that begins to fail in another way
#
# Twelve sensors of a machine, read once a minute for two weeks. Three of ten readings are
# labelled as faults. In the first week faults show in temperature, pressure and vibration. Then
# the machine is rebuilt, and faults show in current, torque and noise.
#
# The screener learns by itself how long to remember (`half_life="auto"`), and a history records
# its scores.

# %%
import altair as alt
import numpy as np
import pandas as pd

from driftsieve import FeatureScreener, ScoreHistory

SENSORS = ["temperature", "pressure", "vibration", "current", "voltage", "humidity"]
SENSORS += ["speed", "torque", "noise", "flow", "load", "light"]


def readings(n_batches=40, size=500, seed=0):
    rng = np.random.default_rng(seed)
    for batch in range(n_batches):
        frame = pd.DataFrame(rng.normal(size=(size, len(SENSORS))), columns=SENSORS)
        fault = rng.random(size) < 0.3
        first_week = batch < n_batches // 2
        strong, weak, wide = SENSORS[:3] if first_week else ["current", "torque", "noise"]
        frame.loc[fault, strong] += 2.0  # a shift of the mean
        frame.loc[fault, weak] += 1.0
        frame.loc[fault, wide] *= 3.0  # a larger spread, with the same mean
        yield frame, np.where(fault, "fault", "normal")


# %% [markdown]
# One pass over the stream. `partial_fit` only learns; scores are computed when they are read.

# %%
screener = FeatureScreener("mutual_info", k=3, half_life="auto")
history = ScoreHistory("mutual_info", k=3, every=500)
n_rows = 0
for X, y in readings():
    screener.partial_fit(X, y)
    n_rows += len(y)
    if history.due(n_rows):
        history.record(n_rows, screener)

print(sorted(screener.get_feature_names_out()))  # -> ['current', 'noise', 'torque']
print(screener.memory_.half_life <= 1000)  # -> True

# %% [markdown]
# `print(screener.memory_)` says in a sentence how long the memory is and what forgetting gains.
# The figure shows the three features that left and the three that came in.

# %%
relevant = [*SENSORS[:3], "current", "torque", "noise"]
frame = history.to_frame()
lines = (
    alt.Chart(frame[frame["name"].isin(relevant)])
    .mark_line(strokeWidth=2.5)
    .encode(
        x=alt.X("position:Q", title="rows").axis(format="s", tickCount=5),
        y=alt.Y("score:Q", title="mutual information (nats)"),
        color=alt.Color("name:N", title=None, sort=relevant)
        .scale(range=["#b2182b", "#ef8a62", "#f4b183", "#2166ac", "#5aa2cf", "#8fc3dd"])
        .legend(columns=3),
    )
)
drift = alt.Chart(alt.Data(values=[{"rows": n_rows / 2, "what": "rebuilt"}]))
chart = (
    alt.layer(
        lines,
        drift.mark_rule(strokeDash=[4, 4], color="#777").encode(x="rows:Q"),
        drift.mark_text(align="left", dx=6, dy=8, color="#555", fontSize=12).encode(
            x="rows:Q", y=alt.value(0), text="what:N"
        ),
    )
    .properties(width=460, height=260, title="Which sensors tell a fault from normal running?")
    .configure_axis(labelFontSize=12, titleFontSize=12)
    .configure_legend(orient="top", labelFontSize=12, columnPadding=24)
)
chart.save("sensors.svg")
