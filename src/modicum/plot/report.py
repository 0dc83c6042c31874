"""Reports: one self-contained HTML file on what was learned."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sklearn.base import BaseEstimator

from modicum import __version__
from modicum._optional import require
from modicum.contract.learner import Learner
from modicum.plot.page import Code, Context, Facts, Page, Section, describe
from modicum.plot.pages import content_of
from modicum.plot.pages.tradeoffs import tradeoffs
from modicum.plot.style import DARK, LIGHT
from modicum.state.files import write_atomically
from modicum.tradeoff import Tradeoff, Tram


def write_report(
    path: str | os.PathLike[str],
    learner: Learner,
    *,
    command: str | None = None,
    source: str | None = None,
    seconds: float | None = None,
    picks: Mapping[str, Sequence[Any]] | None = None,
    image: tuple[int, ...] | None = None,
    text: str | None = None,
) -> None:
    """Write a report on a learner: one HTML file for offline reading, phones and print.

    Parameters
    ----------
    path : where to write
    learner : a fitted learner of any kind
    command : the command to show
    source : the name of the data
    seconds : the time spent learning
    picks : columns of the chosen rows by name, in the order of `learner.picks()`. Default: the rows themselves
    image : (height, width) or (height, width, 3) if rows are flattened pictures
    text : the column of `picks` to show as text

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from modicum import ExemplarClustering
    >>> from modicum.plot import write_report
    >>> model = ExemplarClustering(3, random_state=0).fit(np.random.default_rng(0).normal(size=(500, 2)))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(path, model, source="some points")
    >>> "3 exemplars represent 500 rows" in path.read_text()
    True
    """
    learner._check_fitted()
    context = Context(command, source, seconds, picks, image, text)
    write_atomically(path, render(make_page(learner, context)).encode())


def write_tradeoff_report(
    path: str | os.PathLike[str],
    tram: Tram,
    curves: Tradeoff | None = None,
    *,
    command: str | None = None,
    source: str | None = None,
) -> None:
    """Write a report on a search, with the curves of `modicum.tradeoff.tradeoff` if given.

    Parameters
    ----------
    path : where to write
    tram : a fitted `Tram`
    curves : a `Tradeoff` measured on similar rows
    command, source : as for `write_report`
    """
    sentence, sections = tradeoffs(tram, curves)
    context = Context(command, source)
    page = Page(source or "Tram", "Tram", sentence, [*sections, _parameters(tram, context)])
    write_atomically(path, render(page).encode())


def make_page(learner: Learner, context: Context) -> Page:
    """The page of a learner, with its parameters at the end."""
    kind = type(learner).__name__
    sentence, sections = content_of(learner, context)
    return Page(context.source or kind, kind, sentence, [*sections, _parameters(learner, context)])


def render(page: Page) -> str:
    """The page as HTML."""
    jinja2 = require("jinja2", "reports")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("modicum.plot"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    now = datetime.now().astimezone()
    date = f"{now.day} {now:%B %Y, %H:%M}"
    template = environment.get_template("report.html")
    return template.render(page=page, light=LIGHT, dark=DARK, version=__version__, date=date)


def _parameters(estimator: BaseEstimator, context: Context) -> Section:
    params = estimator.get_params(deep=False)
    parameters = Facts([(name, describe(value)) for name, value in params.items()])
    if context.command:
        return Section("Command and parameters", [Code(context.command), parameters])
    return Section("Parameters", [parameters])
