"""CSV files are read equally with and without pyarrow."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from source_helpers import dense, error_of, write

from driftsieve.sources import as_batches
from driftsieve.sources.encoding.cells import CellParser, advice, split
from driftsieve.sources.encoding.kinds import SAMPLE
from driftsieve.sources.encoding.numbers import DecimalSign, Numbers
from driftsieve.sources.encoding.tables import Roles


@pytest.mark.filterwarnings("ignore::driftsieve.exceptions.SourceWarning")
@given(content=st.text('ab1.0xX-,"\n\ufeff', max_size=60), batch_size=st.sampled_from([1, 3, 100]))
def test_rows_are_read_the_same_with_pyarrow(
    content: str, batch_size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "any.csv", "a,y\n1,u\n" + content)
    options: dict[str, Any] = {"target": "y", "on_error": "skip", "batch_size": batch_size}

    def read() -> Any:
        batches = as_batches(path, **options)
        rows = [(dense(batch).tolist(), batch.y.tolist()) for batch in batches]
        return rows, batches.rows_read, batches.skip_reasons

    fast = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        assert fast == read()


CELLS = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(
        [
            "",
            "NA",
            "?",
            "+1",
            " 1",
            "1 ",
            ".5",
            "1e400",
            "-",
            "none",
            "n/a",
            " ",
            "#N/A",
            "1,5",
            "1.5",
            "-0.0",
            "0x1",
            "-0X1F",
            "007",
            "9223372036854775808",
            "1_0",
            "½",
        ]
    ),
    st.text("ab \"',;\t\n\ufeff", max_size=4),
)


@pytest.mark.filterwarnings("ignore::driftsieve.exceptions.SourceWarning")
@given(
    first=st.tuples(CELLS, CELLS),
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4),
    decimal=st.sampled_from([".", ","]),
)
@example(("1", "1"), [("0x1", "1")], ".").via("pyarrow has integers in hexadecimal digits")
@example(("1", "1"), [("9223372036854775808", "1"), ("2.5", "1")], ".")
def test_cells_are_read_the_same_with_pyarrow(
    first: tuple[str, str], rows: list[tuple[str, str]], decimal: DecimalSign
) -> None:
    def records(cells: list[tuple[str, str]]) -> list[bytes]:
        lines = []
        for row in cells:
            with io.StringIO() as out:
                csv.writer(out, lineterminator="\n").writerow(row)
                lines.append(out.getvalue().encode())
        return lines

    numbers = Numbers(na=["9"], decimal=decimal)
    parser = CellParser(",", Roles("b", None, None, frozenset(), frozenset()), numbers)
    parser.decide(["a", "b"], [split(record, ",") for record in records([first])], "a.csv")
    chunk = records(rows)
    fast = parser.parsing(["a", "b"], chunk)()
    assume(fast is not None)
    slow, bad = parser.parse(["a", "b"], chunk)
    assert bad == {}
    for name in ("a", "b"):
        got, expected = np.asarray(fast[name]), np.asarray(slow[name])
        if got.dtype == np.float64:  # labels are objects, which may be integers
            expected = expected.astype(np.float64)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("batch_size", [999, 4096])
def test_integers_in_hexadecimal_digits_are_bad_rows(batch_size: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n" + "1,0\n-2,1\n" * SAMPLE + "0X1F,0\n3,1\n")
    batches = as_batches(path, target="y", batch_size=batch_size, on_error="skip")
    *_, batch = batches
    assert batch.X[-1].tolist() == [3]
    where = f"{path}, line {2 * SAMPLE + 2}"
    cause = f"Column 'x' must hold numbers, got '0X1F'. {advice()}"
    assert batches.skip_reasons == [f"{where}: {cause}"]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 10])
def test_byte_order_mark_inside_a_file_is_a_character(batch_size: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "\ufeffc,x,y\nu,1,0\nu,2,1\n\ufeffu,3,0\nv,4,1\n")
    *_, batch = as_batches(path, target="y", batch_size=batch_size)
    assert batch.feature_names == ("x", "c=u", "c=\ufeffu", "c=v")
    path = write(tmp_path / "b.csv", "x,y\n1,0\n2,1\n\ufeff3,0\n")
    cause = f", line 4: Column 'x' must hold numbers, got '\\ufeff3'. {advice()}"
    assert error_of(path, target="y", batch_size=batch_size) == cause
