# %% [markdown]
# # Text with TF-IDF: spam that changes its subject
#
# Messages arrive in batches. Spam is about a lottery first and about coins later, and most of
# its words are ordinary ones. `HashingVectorizer` needs no vocabulary, so words that were never
# seen before fit in, and `TfidfTransformer` learns its weights from the first messages.

# %%
import altair as alt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import SGDClassifier

from driftsieve import FeatureScreener

COMMON = """the meeting report is on for monday please send your notes about budget project team
office lunch train ticket family weekend photos thanks call tomorrow update question""".split()
LOTTERY = "winner prize lottery claim cash lucky jackpot million".split()
COINS = "bitcoin wallet token invest profit exchange crypto doubling".split()


def messages(n_batches=40, size=300, seed=0):
    rng = np.random.default_rng(seed)
    for batch in range(n_batches):
        spam = rng.random(size) < 0.4
        topic = LOTTERY if batch < n_batches // 2 else COINS
        texts = [
            " ".join([*rng.choice(COMMON, 12), *rng.choice(topic if s else COMMON, 3)])
            for s in spam
        ]
        yield texts, spam.astype(int)


# %% [markdown]
# A pipeline of scikit-learn has no `partial_fit`, so a stream needs a loop: first predict, then
# learn. With `output="mask"` all columns stay, and those that are not selected are 0. The linear
# model keeps its weights while the selection changes.

# %%
hashing = HashingVectorizer(n_features=2**12, alternate_sign=False, norm=None)
tfidf = TfidfTransformer()
screener = FeatureScreener("mutual_info", k=8, half_life="auto", output="mask")
model = SGDClassifier(loss="log_loss", random_state=0)


def words_of(columns):
    known = {int(hashing.transform([w]).indices[0]): w for w in COMMON + LOTTERY + COINS}
    return sorted(known[column] for column in columns)


share, accuracy, chosen = [], [], {}
for i, (texts, y) in enumerate(messages()):
    counts = hashing.transform(texts)
    X = tfidf.transform(counts) if i else tfidf.fit_transform(counts)
    if i:
        accuracy.append({"messages": 300 * i, "accuracy": model.score(screener.transform(X), y)})
    screener.partial_fit(X, y)
    model.partial_fit(screener.transform(X), y, classes=[0, 1])
    chosen[i] = words_of(screener.get_support(indices=True))
    topics = {"lottery": LOTTERY, "coins": COINS}
    share += [
        {"messages": 300 * (i + 1), "topic": name, "words": len(set(words) & set(chosen[i]))}
        for name, words in topics.items()
    ]

print(chosen[19] == sorted(LOTTERY))  # -> True
print(chosen[39] == sorted(COINS))  # -> True
print(f"{np.mean([a['accuracy'] for a in accuracy[-10:]]):.2f}")  # -> 1.00

# %% [markdown]
# The upper figure counts the selected words of each topic, the lower one shows how many messages
# of the next batch are classified correctly.

# %%
words = (
    alt.Chart(alt.Data(values=share))
    .mark_line(interpolate="step-after", strokeWidth=2.5)
    .encode(
        x=alt.X("messages:Q").title(None).axis(tickCount=5),
        y=alt.Y("words:Q").title("selected words"),
        color=alt.Color("topic:N").sort(["lottery", "coins"]).title(None),
    )
    .properties(width=460, height=150, title="Selected words by topic, k = 8")
)
next_batch = (
    alt.Chart(alt.Data(values=accuracy))
    .mark_line(color="#555")
    .encode(
        x=alt.X("messages:Q").axis(tickCount=5),
        y=alt.Y("accuracy:Q").scale(domain=[0.4, 1]).title("accuracy"),
    )
    .properties(width=460, height=100)
)
chart = (
    (words & next_batch)
    .configure_axis(labelFontSize=12, titleFontSize=12)
    .configure_legend(orient="top", labelFontSize=12, columnPadding=24)
)
chart.save("text_tfidf.svg")
