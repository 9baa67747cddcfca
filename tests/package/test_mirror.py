"""The tests of a module or a header are found by its path."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "src" / "driftsieve", ROOT / "tests"
HEADERS, CPP_TESTS = ROOT / "cpp" / "include" / "driftsieve", ROOT / "cpp" / "tests"


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
