"""What a bank takes of a batch, given its limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve._core import Bank as CoreBank
from driftsieve.batch import Batch
from driftsieve.growth import Meter
from driftsieve.labels import Labels
from driftsieve.limits import Limits


class Admission(NamedTuple):
    """Rows and columns that are taken in, and how many rows are not."""

    batch: Batch
    classes: NDArray[np.uint32]
    labels: Labels  # all there are with these rows
    n_ignored: int


def admitted(
    batch: Batch, known: Labels, core: CoreBank, limits: Limits, meter: Meter
) -> Admission:
    """All of the batch, or what is within the limits; LimitError where that is not an option."""
    classes, labels = known.encode(batch.y)
    if core.ticks and not core.is_sparse and batch.n_features > core.n_features:
        # Dense columns that were left out once stay out: nothing is known of the rows they had.
        batch = batch.part(np.ones(batch.n_rows, np.bool_), core.n_features)
    if meter.is_free(batch, len(labels)):
        return Admission(batch, classes, labels, 0)
    if not limits.ignores_new:
        limits.check_features(batch.n_features)
        limits.check_classes(len(labels))
        if not meter.has_room(core, batch, len(labels), limits.bytes):
            raise limits.too_large(core.nbytes, meter.needed)
        return Admission(batch, classes, labels, 0)
    # What is known goes on, also where the limits were lowered below it.
    newcomers = max(limits.max_features, core.n_features), max(limits.max_classes, len(known))
    old = (core.n_features, len(known)) if core.ticks else newcomers
    # Newcomers may fill half of the room, so that what is known can go on.
    for (width, n_classes), most in ((newcomers, limits.bytes / 2), (old, limits.bytes)):
        kept = classes < n_classes
        part, labels = batch.part(kept, width), labels.first(n_classes)
        if meter.has_room(core, part, len(labels), most):
            return Admission(part, classes[kept], labels, batch.n_rows - part.n_rows)
    raise limits.too_large(core.nbytes, meter.needed)
