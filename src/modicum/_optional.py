"""Imports of optional packages."""

from importlib import import_module
from types import ModuleType

from modicum.exceptions import MissingExtraError

EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "pyarrow": "cli",
    "matplotlib": "cli",
    "jinja2": "cli",
    "fsspec": "cloud",
}


def require(module: str, feature: str) -> ModuleType:
    """The module; a `MissingExtraError` that names the extra to install if its package is missing."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is installed, but one of its dependencies is not
        extra = EXTRAS[package]
        raise MissingExtraError(f'{feature} needs {package}. Install it with: pip install "modicum[{extra}]"') from None
