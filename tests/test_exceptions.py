"""Every exception is exported, belongs to one family, and can be sent to another process."""

import pickle

import pytest

import driftsieve as ds
from driftsieve import exceptions


def test_every_exception_is_exported_and_a_driftsieve_error() -> None:
    for name in exceptions.__all__:
        found = getattr(exceptions, name)
        assert getattr(ds, name) is found
        assert issubclass(found, ds.DriftsieveError | Warning)
    defined = {name for name, value in vars(exceptions).items() if isinstance(value, type)}
    assert defined == set(exceptions.__all__)
    for error in (ds.RowError, ds.SourceError, ds.LimitError, ds.StateError):
        assert issubclass(error, ValueError)


@pytest.mark.parametrize(
    "error",
    [
        ds.RowError("y must not be missing, got None", 3),
        ds.SourceError("no column 'y'", "mail.csv", "line 3"),
        ds.LimitError("The number of classes must be at most 2, got 3."),
        ds.StateError("The bytes must be a bank, got a history."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_another_process_have_the_same_message(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_message_of_a_source_is_one_line_of_at_most_500_characters() -> None:
    message = str(ds.SourceError("a\n b" * 400, "mail.csv"))
    assert len(message) == 500
    assert message.startswith("mail.csv: a b")
    assert message.endswith("...")
