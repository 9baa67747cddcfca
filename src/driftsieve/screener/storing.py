"""A screener as bytes: its parameters, what it transforms to, the declared classes and the bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftsieve import codec
from driftsieve.bank import Bank
from driftsieve.screener.checks import check_choices, check_declared, declared_classes

if TYPE_CHECKING:
    from driftsieve.screener.core import FeatureScreener

    S = TypeVar("S", bound=FeatureScreener)


@dataclass(frozen=True, slots=True)
class Stored:
    """What there is to store; no bank before the first rows."""

    parameters: dict[str, Any]
    container: str | None = None  # of set_output
    declared: NDArray[Any] | None = None
    bank: Bank | None = None

    def to_bytes(self) -> bytes:
        header = {
            "kind": "screener",
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in self.parameters.items()
            },
            "classes": None if self.declared is None else self.declared.tolist(),
        }
        if self.container is not None:
            header["container"] = self.container
        return codec.pack(header, b"" if self.bank is None else self.bank.to_bytes())

    @staticmethod
    def from_bytes(data: bytes, cls: type[S]) -> S:
        header, payload = codec.unpack(data, "screener")
        try:
            screener = cls(**header["parameters"])
            if (container := header.get("container")) is not None:
                check_choices(container=(container, ("default", "pandas", "polars")))
                screener.set_output(transform=container)
            declared = header["classes"]
            bank = Bank.from_bytes(payload, n_threads=screener.n_threads) if payload else None
            screener._check_bank(bank)
            if bank is None:
                return screener
            if declared is not None:
                declared = declared_classes(declared)
                check_declared(bank.classes, declared)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise codec.malformed(error) from error
        return screener._hold(bank, declared)
