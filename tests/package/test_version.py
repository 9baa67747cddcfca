import driftsieve
from driftsieve import _core


def test_package_and_extension_have_the_same_version() -> None:
    assert driftsieve.__version__ == _core.version
