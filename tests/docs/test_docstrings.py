"""Every public class, function and method has a complete docstring in numpydoc format."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module

import pytest

MODULES = (
    "driftsieve",
    "driftsieve.distributed.dask",
    "driftsieve.distributed.spark",
    "driftsieve.evaluate",
    "driftsieve.history",
    "driftsieve.learners",
    "driftsieve.memory",
    "driftsieve.offline",
    "driftsieve.report",
    "driftsieve.river",
    "driftsieve.scores",
    "driftsieve.selection.functions",
    "driftsieve.selection.stability",
    "driftsieve.sources",
)
OPTIONAL = {"driftsieve.distributed.dask": "dask", "driftsieve.river": "river"}


def public_objects(module_name: str) -> Iterator[tuple[str, object]]:
    """The public classes and functions of a module, and the methods and properties of classes."""
    module = import_module(module_name)
    for name in getattr(module, "__all__", vars(module)):
        found = getattr(module, name)
        home = getattr(found, "__module__", "") or ""
        is_own = "__all__" in vars(module) or home == module_name
        if name.startswith("_") or not (is_own and callable(found) and "driftsieve" in home):
            continue
        yield name, found
        for base in found.__mro__ if inspect.isclass(found) else ():
            for member_name, member in vars(base).items():
                is_method = isinstance(member, property | classmethod) or inspect.isfunction(member)
                if "driftsieve" in base.__module__ and is_method and member_name[0] != "_":
                    yield f"{name}.{member_name}", member


def missing_parts(found: object, *, examples: bool = True) -> set[str]:
    """The parts that the docstring of a class, function, method or property does not have."""
    found = getattr(found, "__func__", found)
    text = inspect.getdoc(found) or ""
    needed = {"a summary"}
    has = {"a summary"} if re.match(r"[^\n]+\.(\n\n|$)", text) else set()
    has |= set(re.findall(r"^(\w[\w ]*)\n---+$", text, re.MULTILINE))
    is_class = inspect.isclass(found)
    if callable(found) and not (is_class and issubclass(found, Exception | Warning)):
        signature = inspect.signature(found)
        needed |= {"Examples"} if examples else set()
        if not is_dataclass(found) and "Attributes" not in has:
            names = set(signature.parameters) - {"self", "cls"}
            section = text.partition("Parameters\n---")[2]
            needed |= {f"the parameter {name}" for name in names}
            headings = re.findall(r"^([*\w, ]+)(?= :|$)", section, re.MULTILINE)
            has |= {f"the parameter {name}" for name in re.findall(r"\w+", " ".join(headings))}
        if not is_class and signature.return_annotation not in (None, "None"):
            needed.add("Returns")
    return needed - has


@pytest.mark.parametrize("module_name", MODULES)
def test_public_docstrings_are_complete(module_name: str) -> None:
    pytest.importorskip(OPTIONAL.get(module_name, "driftsieve"))
    # Spark takes too long for doctests: docs/distributed.md has its examples.
    examples = module_name != "driftsieve.distributed.spark"
    found = dict(public_objects(module_name))
    missing = {name: missing_parts(each, examples=examples) for name, each in found.items()}
    assert found
    assert {name: parts for name, parts in missing.items() if parts} == {}


def test_missing_parts_are_found() -> None:
    def f(a: int) -> int:
        """Return it"""
        return a

    assert missing_parts(f) == {"a summary", "the parameter a", "Returns", "Examples"}
