"""The table of selection rules, and the validation of their parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, NamedTuple

from driftsieve.scores import Score
from driftsieve.selection import functions
from driftsieve.snapshot import Floats


class Rule(NamedTuple):
    """A selection rule: its function, what it uses, and the range of its parameter."""

    function: Callable[..., functions.Mask]
    uses: Literal["scores", "pvalues"]
    value: str
    low: float
    high: float


class Choice(NamedTuple):
    """The name of a rule and the value of its parameter."""

    rule: str
    value: float


_RATE = "an error rate between 0 and 1"
RULES: dict[str, Rule] = {
    "k": Rule(functions.top_k, "scores", "a whole number of at least 0", 0, math.inf),
    "percentile": Rule(functions.percentile, "scores", "a number between 0 and 100", 0, 100),
    "threshold": Rule(functions.threshold, "scores", "a number", -math.inf, math.inf),
    "fpr": Rule(functions.fpr, "pvalues", _RATE, 0, 1),
    "fdr": Rule(functions.fdr, "pvalues", _RATE, 0, 1),
    "fwe": Rule(functions.fwe, "pvalues", _RATE, 0, 1),
}
DEFAULT = Choice("k", 10)


def choice_of(parameters: Any, score: Score) -> Choice:
    """Return the rule that is set on an estimator, or ``DEFAULT`` if none is.

    Raises
    ------
    ValueError
        If several rules are set, if a value is out of range, or if a rule needs p-values that the
        score does not have.
    """
    given = [Choice(name, getattr(parameters, name)) for name in RULES]
    given = [choice for choice in given if choice.value is not None]
    if len(given) > 1:
        names = ", ".join(f"{name}={value!r}" for name, value in given)
        raise ValueError(f"At most one of {', '.join(RULES)} must be given, got {names}.")
    name, value = choice = given[0] if given else DEFAULT
    rule = RULES[name]
    number: object = value
    fits = isinstance(number, Real) and not isinstance(number, bool)
    if not fits or not rule.low <= float(value) <= rule.high or (name == "k" and value % 1):
        raise ValueError(f"{name} must be {rule.value}, got {value!r}.")
    if rule.uses == "pvalues" and score.pvalues is None:
        raise ValueError(
            f"score_func must have p-values for {name}, got one without. Use k, percentile or "
            "threshold, or one of 't', 'fisher', 'mutual_info' and 'chi2'."
        )
    return choice


def selected(
    choice: Choice, score: Score, scores: Floats | None, pvalues: Floats | None
) -> functions.Mask:
    """Return the mask of the features that a rule keeps, from scores or p-values as it needs."""
    rule = RULES[choice.rule]
    if rule.uses == "pvalues":
        return rule.function(pvalues, choice.value)
    return rule.function(scores, choice.value, score.larger_is_better)
