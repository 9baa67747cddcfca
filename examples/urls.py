# %% [markdown]
# # URLs: features that did not exist yesterday
#
# Each row is a dictionary: the parts of a URL, its length and its number of digits. Every day
# malicious URLs come from new hosts, so features appear all the time. `as_batches` gives each
# key a column when it first appears, and `new_features="grow"` lets the screener grow with them.
# Rows are sparse: an absent key is 0 and costs nothing.

# %%
from itertools import chain

import altair as alt
import numpy as np

import driftsieve as ds

SITES = [f"{name}.example" for name in ("news", "shop", "wiki", "bank", "mail", "maps")]
PATHS = ["index", "about", "login", "item", "search", "photo", "help", "account"]


def url_rows(day, n=1500):
    rng = np.random.default_rng(day)
    for _ in range(n):
        bad = rng.random() < 0.33
        host = (
            f"day{day}-{rng.integers(3)}.test" if bad and rng.random() < 0.7 else rng.choice(SITES)
        )
        path = rng.choice(PATHS, size=2)
        length = len(host) + rng.poisson(40 if bad and day >= 4 else 20)
        row = {f"host={host}": 1, f"path={path[0]}": 1, f"path={path[1]}": 1, "length": length}
        if bad and rng.random() < 0.5 and day < 4:
            row["path=login"] = 1
        yield row, "malicious" if bad else "benign"


# %% [markdown]
# Eight days. One call of `as_batches` reads them all, so that every key keeps its column.

# %%
screener = ds.FeatureScreener("mutual_info", k=4, half_life="auto", new_features="grow")
best, n_features = [], []
days = chain.from_iterable(url_rows(day) for day in range(8))
for day, batch in enumerate(ds.as_batches(days, batch_size=1500)):  # a day per batch
    screener.partial_fit(batch)
    n_features.append(screener.n_features_in_)
    names = screener.get_feature_names_out()
    score = dict(zip(screener.feature_names_in_, screener.scores_, strict=True))
    best += [{"day": day, "feature": name, "score": score[name]} for name in names]

print(n_features[0], n_features[-1])  # -> 18 39
print(sorted(n for n in names if n.startswith("host=")))
# -> ['host=day7-0.test', 'host=day7-1.test', 'host=day7-2.test']
print("length" in names)  # -> True

# %% [markdown]
# Hosts come and go within a day. The length of the URL is relevant from the fourth day on, and
# stays.

# %%
shown = list(dict.fromkeys(b["feature"] for b in best))
chart = (
    alt.Chart(alt.Data(values=best))
    .mark_circle(color="#2166ac")
    .encode(
        x=alt.X("day:O").axis(labelAngle=0),
        y=alt.Y("feature:N").sort(shown).title(None),
        size=alt.Size("score:Q").title("mutual information"),
    )
    .properties(width=340, height=18 * len(shown), title="The four best features after each day")
    .configure(padding=20)
    .configure_axis(labelFontSize=12, titleFontSize=12)
    .configure_legend(orient="top", labelFontSize=12, columnPadding=24)
)
chart.save("urls.svg")
