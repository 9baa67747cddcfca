"""What a reader searches for is found by its path or its name."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "src" / "driftsieve", ROOT / "tests"
HEADERS, CPP_TESTS = ROOT / "cpp" / "include" / "driftsieve", ROOT / "cpp" / "tests"
CPP = [ROOT / "cpp" / name for name in ("bind", "include", "src", "tests")]


def paths(folder: Path, pattern: str) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(pattern))


@pytest.mark.parametrize("init", paths(PACKAGE, "*/__init__.py"))
def test_each_package_has_a_folder_of_tests(init: str) -> None:
    assert list((TESTS / init).parent.glob("test_*.py"))


@pytest.mark.parametrize("module", [path.stem for path in PACKAGE.glob("*.py")])
def test_each_module_of_the_top_has_tests(module: str) -> None:
    if module == "__init__":
        module = "package"
    named = TESTS / f"test_{module.strip('_')}.py"
    assert named.exists() or list((TESTS / module).glob("test_*.py"))


@pytest.mark.parametrize("folder", [path.name for path in HEADERS.iterdir() if path.is_dir()])
def test_each_folder_of_headers_has_tests(folder: str) -> None:
    assert list((CPP_TESTS / folder).glob("test_*.cpp"))


# The same thing in another library, and the commands, which are named as what they do.
SHARED = {"FeatureScreener", "screen", "merge"}


def public_names(module: Path) -> list[str]:
    """Return the public classes and functions that a module defines."""
    body = ast.parse(module.read_text()).body
    named = (node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef))
    return [node.name for node in named if not node.name.startswith("_")]


def test_no_two_modules_define_a_public_class_or_function_of_the_same_name() -> None:
    names = Counter(name for path in PACKAGE.rglob("*.py") for name in public_names(path))
    assert {name for name, count in names.items() if count > 1} == SHARED


def test_no_two_headers_have_the_same_name() -> None:
    names = Counter(path.name for folder in CPP for path in folder.rglob("*.hpp"))
    assert [name for name, count in names.items() if count > 1] == []
