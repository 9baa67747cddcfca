"""Names of parameters in messages."""

import pytest

from driftsieve._arguments import arg, check_choice, spelling


def test_parameters_are_named_as_in_python() -> None:
    assert arg("half_life") == "half_life"
    assert arg("missing", "ignore") == 'missing="ignore"'
    assert arg("k", 3) == "k=3"
    assert arg("sep", '"') == "sep='\"'"


def test_a_spelling_ends_with_its_block_also_after_an_error() -> None:
    with (
        pytest.raises(ValueError, match=r"^--clock must be"),
        spelling(lambda name, _: f"--{name}"),
    ):
        check_choice("clock", "hour", "row", "batch")
    assert arg("clock") == "clock"


@pytest.mark.parametrize("value", ["hour", "", None, 3, ["row"]])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"clock must be \"row\" or \"batch\", got "):
        check_choice("clock", value, "row", "batch")
    check_choice("clock", "row", "row", "batch")
