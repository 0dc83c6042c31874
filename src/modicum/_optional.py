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
    "PIL": "cli",
    "sqlalchemy": "web",
    "fastapi": "web",
    "uvicorn": "web",
    "psycopg": "postgres",
    "dask": "dask",
    "distributed": "dask",
    "fsspec": "cloud",
    "rapidfuzz": "text",
}
PACKAGES = {"PIL": "pillow"}  # names on the package index that differ from those of the modules


def require(module: str, feature: str) -> ModuleType:
    """The module; a `MissingExtraError` that names the extra to install if its package is missing."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is installed, but one of its dependencies is not
        extra, name = EXTRAS[package], PACKAGES.get(package, package)
        raise MissingExtraError(f'{feature} needs {name}. Install it with: pip install "modicum[{extra}]"') from None
