"""Packages that only some features need, asked for by the feature's name."""

from importlib import import_module
from types import ModuleType

from modicum.exceptions import MissingExtraError

EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "pyarrow": "cli",
    "matplotlib": "cli",
    "jinja2": "cli",
}


def require(module: str, feature: str) -> ModuleType:
    """Import `module`, or say which extra `feature` needs."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is there, something it needs is not
        extra = EXTRAS[package]
        raise MissingExtraError(f'{feature} needs {package}. Install it with: pip install "modicum[{extra}]"') from None
