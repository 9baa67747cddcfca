"""``driftsieve demo``: a small drifting stream, screened live."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from driftsieve._storage import atomic
from driftsieve._text import printable
from driftsieve.cli import demo_stream as stream
from driftsieve.cli.options import check_output


def demo(
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Write the rows to a file instead, to try screen on."
        ),
    ] = None,
) -> None:
    """Screen a small stream whose relevant features change half way."""
    if save is None:
        stream.print_rankings()
        return
    check_output("--save", save, (".csv",))
    with atomic.replacing(save) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*stream.FEATURES, "state"])
        for X, y in stream.drifting_stream():
            writer.writerows(
                [*row, label] for row, label in zip(X.round(1).tolist(), y, strict=True)
            )
        text.detach()
    print(printable(f"Written: {save}"))
