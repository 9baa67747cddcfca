from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
import numpy.typing
from numpy.typing import NDArray


version: str = '0.1.0'

@overload
def find_bad_value(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], allow_nan: bool) -> tuple[int, int] | None: ...

@overload
def find_bad_value(X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], allow_nan: bool) -> tuple[int, int] | None:
    """
    Row and column of the first value that is infinite (or NaN, unless allowed).
    """

@overload
def are_canonical(indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int) -> bool: ...

@overload
def are_canonical(indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int) -> bool:
    """Whether the columns of CSR rows are in range, and rise in each."""

class Clock(enum.Enum):
    row = 0

    batch = 1

    time = 2

class Bank:
    def __init__(self, epsilon: float, moments: bool, quantiles: bool, ignore_missing: bool, clock: Clock, half_lives: Sequence[float]) -> None: ...

    def __enter__(self) -> Bank: ...

    def __exit__(self, *args: object) -> None: ...

    @overload
    def update_dense(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, header: object) -> bool: ...

    @overload
    def update_dense(self, X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, header: object) -> bool: ...

    def update_plain(self, X: object | None, y: object | None, n_threads: int) -> bool: ...

    def know_labels(self, numbers: dict[object, int], integers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    @overload
    def update_csr(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, header: object) -> bool: ...

    @overload
    def update_csr(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, header: object) -> bool: ...

    @overload
    def update_csr(self, data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, header: object) -> bool: ...

    @overload
    def update_csr(self, data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, header: object) -> bool: ...

    def merge(self, other: Bank, class_map: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, n_features: int, start: float, n_threads: int, header: object) -> None: ...

    def take_absent_as_missing(self) -> None: ...

    def take_snapshots(self, rungs: Sequence[int], begin: int, n_features: int, n_bins: int, class_place: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, seen: bytes | None = None) -> list[tuple[NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None]]: ...

    def take_snapshots_of(self, rungs: Sequence[int], features: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_bins: int, class_place: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[tuple[NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None, NDArray[numpy.float64] | None]]: ...

    def seen(self, begin: int, n_features: int) -> bytes | None: ...

    def cut(self, begin: int, count: int) -> Bank: ...

    def totals(self, rung: int) -> list[tuple[float, float, int]]: ...

    def to_bytes(self) -> bytes: ...

    @staticmethod
    def from_bytes(bytes: bytes | memoryview) -> Bank: ...

    @property
    def header(self) -> object: ...

    @header.setter
    def header(self, arg: object | None, /) -> None: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def half_lives(self) -> list[float]: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def moments(self) -> bool: ...

    @property
    def quantiles(self) -> bool: ...

    @property
    def ignore_missing(self) -> bool: ...

    @property
    def absent_is_missing(self) -> bool: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def n_features(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    @property
    def ticks(self) -> int: ...

    @property
    def is_whole(self) -> bool: ...

    @property
    def now(self) -> float: ...

    @property
    def is_sparse(self) -> bool: ...

    @property
    def block_rows(self) -> int: ...

    @property
    def open_rows(self) -> int: ...

    def rows_to_block_end(self, rows: int) -> int: ...

    @overload
    def bytes_with_dense(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, limit: float, be_sure: bool) -> int: ...

    @overload
    def bytes_with_dense(self, X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, limit: float, be_sure: bool) -> int: ...

    @overload
    def bytes_with_csr(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, limit: float, be_sure: bool) -> int: ...

    @overload
    def bytes_with_csr(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, limit: float, be_sure: bool) -> int: ...

    @overload
    def bytes_with_csr(self, data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, limit: float, be_sure: bool) -> int: ...

    @overload
    def bytes_with_csr(self, data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, n_threads: int, checked: bool, limit: float, be_sure: bool) -> int: ...

    def bytes_with_bank(self, other: Bank, class_map: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, n_features: int, start: float, n_threads: int, limit: float) -> int: ...

    def most_bytes_with(self, n_rows: int, n_cols: int, n_values: int | None, n_classes: int, measure: bool) -> int: ...

    def most_bytes(self, n_classes: int) -> int: ...

@overload
def add_dense_rows(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], are_moments: bool) -> None: ...

@overload
def add_dense_rows(X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], are_moments: bool) -> None:
    """Add dense rows to sums: see row_sums.hpp."""

@overload
def add_csr_rows(data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, keeps_zeros: bool, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], are_moments: bool) -> None: ...

@overload
def add_csr_rows(data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, keeps_zeros: bool, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], are_moments: bool) -> None: ...

@overload
def add_csr_rows(data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, keeps_zeros: bool, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], are_moments: bool) -> None: ...

@overload
def add_csr_rows(data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, keeps_zeros: bool, classes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], are_moments: bool) -> None:
    """The same of sparse rows."""

class Turn:
    def __init__(self) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *args: object) -> None: ...

class RowCollector:
    def __init__(self, columns: dict[object, int], classes: dict[object, int], width: int, absent: float, allow_nan: bool, timed: bool, half_life: float, bank: Bank | None, turn: Turn) -> None: ...

    def check(self, weight: float, time: float | None) -> None: ...

    def make_room(self, rows: int, values: int) -> None: ...

    def append(self, x: dict[object, object], y: object | None, weight: float, time: float | None) -> int: ...

    def rows(self) -> tuple[Annotated[NDArray[numpy.float64], dict(writable=False)], Annotated[NDArray[numpy.float64], dict(writable=False)], Annotated[NDArray[numpy.int64], dict(writable=False)], Annotated[NDArray[numpy.int64], dict(writable=False)], Annotated[NDArray[numpy.int64], dict(writable=False)], Annotated[NDArray[numpy.float64], dict(writable=False)], Annotated[NDArray[numpy.float64], dict(writable=False)]]: ...

    def clear(self) -> None: ...

    def most_bytes_with(self, rows: int, values: int, columns: int) -> int: ...

    def __len__(self) -> int: ...

    @property
    def n_values(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

TAKEN: int = 0

NO_ROOM: int = 2

def pick(x: dict[object, object], keys: tuple[object, ...]) -> dict[object, object]:
    """A dictionary of those of the keys that x has, in their order."""

class SvmlightParser:
    """A stream of svmlight text to rows in CSR form."""

    def __init__(self, *, zero_based: bool, max_line: int) -> None: ...

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Parse a piece of the text, cut anywhere."""

    def finish(self) -> None:
        """End the text: its last line may lack a newline."""

    @property
    def rows(self) -> int:
        """Rows that wait to be taken, those at fault included."""

    def take(self, max_rows: int) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32 | numpy.int64], numpy.typing.NDArray[numpy.int32 | numpy.int64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int64], dict[int, str]]:
        """
        Take the oldest rows: labels, indptr, indices and data of those that could be parsed, the line of every row, and what is wrong with the bad ones.
        """

class FsaLoss(enum.Enum):
    logistic = 0

    lorenz = 1

class FsaRows:
    """A view of rows to learn from: a dense or a sound CSR matrix."""

    @overload
    def __init__(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    @overload
    def __init__(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    @overload
    def __init__(self, data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    @overload
    def __init__(self, data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    def sizes(self, row_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """
        Weighted sums over the rows, (n_features, 2): of x^2, and of how often x is not 0.
        """

    def epoch(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], *, loss: FsaLoss, step: float, intercept_gain: float, shrinkage: float, momentum: float, batch_size: int) -> None:
        """
        Gradient steps over the rows in that order; changes the weights, (n_features + 1, 2), or (n_features + 1, 1) without momentum.
        """

    def row_sums(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], half_life: float) -> NDArray[numpy.float64]:
        """The sums over rows that `follow` makes."""

    def follow(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(5), order='C', device='cpu')], *, loss: FsaLoss, rate: float, largest_curvature: float, shrinkage: float, momentum: float, half_life: float, batch_size: int) -> None:
        """
        Online Newton steps over the rows in that order. Changes the weights, (n_features + 1, 4), or (n_features + 1, 3) without momentum, whose last columns are curvatures and recencies, and the sums over rows: of 1, weights and weighted non-zeros, and, of rows that are not empty, of weights and weighted logarithms of squared norms.
        """
