"""Reports of banks, snapshots and histories, as a dictionary, HTML, JSON and text.

>>> import numpy as np
>>> from driftsieve import offline, report
>>> snapshot = offline.snapshot(np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1]))
>>> page = report.to_html(report.build(snapshot, title="Four rows"))
>>> page.startswith("<!doctype html>")
True
"""

from driftsieve.report.banks import of_bank
from driftsieve.report.data import build, to_json
from driftsieve.report.html import to_html
from driftsieve.report.text import to_text
from driftsieve.report.writing import WRITERS, write

__all__ = ["WRITERS", "build", "of_bank", "to_html", "to_json", "to_text", "write"]
