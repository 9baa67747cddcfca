"""A screener as bytes: its parameters, output container, declared classes and bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftsieve._arguments import check_choice
from driftsieve._state.settings import stored_half_life
from driftsieve._storage import envelope
from driftsieve.memory.reading import AnyBank, bank_from_bytes
from driftsieve.screener.checks import check_declared, declared_classes

if TYPE_CHECKING:
    from driftsieve.screener.core import FeatureScreener

    S = TypeVar("S", bound=FeatureScreener)


@dataclass(frozen=True, slots=True)
class Stored:
    """The parts of a stored screener. There is no bank before the first rows."""

    parameters: dict[str, Any]
    container: str | None = None  # of set_output
    declared: NDArray[Any] | None = None
    bank: AnyBank | None = None

    @property
    def _half_life(self) -> dict[str, Any]:
        return {"half_life": stored_half_life(self.parameters["half_life"])}

    def to_bytes(self) -> bytes:
        if not isinstance(self.parameters["score_func"], str):
            raise ValueError("score_func must be a name to be stored, got a function.")
        header = {
            "kind": "screener",
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in (self.parameters | self._half_life).items()
            },
            "classes": None if self.declared is None else self.declared.tolist(),
        }
        if self.container is not None:
            header["container"] = self.container
        return envelope.pack(header, b"" if self.bank is None else self.bank.to_bytes())

    @staticmethod
    def from_bytes(data: bytes, cls: type[S]) -> S:
        header, payload = envelope.unpack(data, "screener")
        try:
            screener = cls(**header["parameters"])
            if (container := header.get("container")) is not None:
                check_choice("container", container, "default", "pandas", "polars")
                screener.set_output(transform=container)
            declared = header["classes"]
            bank = bank_from_bytes(payload, n_threads=screener.n_threads) if payload else None
            screener._check_bank(bank)
            if bank is None:
                return screener
            if declared is not None:
                declared = declared_classes(declared)
                check_declared(bank.classes, declared)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise envelope.malformed(error) from error
        return screener._hold(bank, declared)
