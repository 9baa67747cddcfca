"""Threads that use one bank or screener at the same time."""

import contextlib
import sys

import pytest


def is_refused(call):
    try:
        call()
    except RuntimeError as error:
        return "by one thread at a time" in str(error) or pytest.fail(str(error))
    return False


@contextlib.contextmanager
def switching_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
