"""Reports: one self-contained HTML file on what was learned."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sklearn.base import BaseEstimator

from modicum import __version__
from modicum._optional import require
from modicum.contract.learner import Learner
from modicum.drift import changes_in_words, half_life_in_words
from modicum.pipeline import StreamPipeline, final_learner
from modicum.pipeline.kinds import IGNORED
from modicum.plot.curves import changes_over_stream
from modicum.plot.formatting import clipped, is_number_like, plural
from modicum.plot.page import Block, Code, Column, Context, Facts, Page, Section, Table, describe
from modicum.plot.pages import content_of
from modicum.plot.pages.shared import figure
from modicum.plot.pages.tradeoffs import tradeoffs
from modicum.plot.style import DARK, LIGHT
from modicum.rows import is_table
from modicum.state.files import write_atomically
from modicum.streams.readers.tables import FILE, ROW
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
    preparation: Sequence[tuple[str, str, str]] | None = None,
    learned_from: str | None = None,
    documents: Mapping[Any, str] | None = None,
) -> None:
    """Write a report on a learner: one HTML file for offline reading, phones and print.

    Parameters
    ----------
    path : where to write
    learner : a fitted learner of any kind; of a pipeline, the last step is shown, and how rows were prepared
    command : the command to show
    source : the name of the data
    seconds : the time spent learning
    picks : columns of the chosen rows by name, in the order of `learner.picks()`. Default: the rows themselves
    image : (height, width) or (height, width, 3) if rows are flattened pictures
    text : the column of `picks` to show as text
    preparation : (column, kind, what was done) for each column of the source, those that were ignored included
    learned_from : one sentence on what was learned from and what was ignored
    documents : for topic models, documents of `nearest_documents` by id: their texts, paths of pictures, or names; for
        crowd learners, paths of pictures by item

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
    pictures = None
    pipeline = learner if isinstance(learner, StreamPipeline) else None
    if pipeline is not None and hasattr(pipeline.preparation_, "summary_"):
        learned_from = pipeline.summary_ if learned_from is None else learned_from
    if isinstance(learner, StreamPipeline) and learner.encoder_ is not None:
        preparation = learner.encoder_.decisions_ if preparation is None else preparation
        pictures = next((name for name, kind, _ in preparation if kind == "image"), None)
        picks = _learned_first(_original_rows(learner) if picks is None else picks, preparation)
    context = Context(
        command, source, seconds, picks, image, text, preparation, learned_from, pictures, documents, pipeline
    )
    html = render(make_page(final_learner(learner), context))
    write_atomically(path, html.encode("utf-8", "replace"))  # a name may hold half a character


def _original_rows(pipeline: StreamPipeline) -> Mapping[str, Sequence[Any]] | None:
    """Columns of the rows that a pipeline picked."""
    picks = pipeline.picks()
    if picks is None or not is_table(picks.rows):
        return None
    return {name: picks.rows[name] for name in picks.rows.column_names if name not in (FILE, ROW)}


def _learned_first(
    picks: Mapping[str, Sequence[Any]] | None, preparation: Sequence[tuple[str, str, str]]
) -> Mapping[str, Sequence[Any]] | None:
    """The columns of picks, those that were learned from first: a wide table is cut at the right."""
    if picks is None:
        return None
    learned = [name for name, kind, _ in preparation if kind != IGNORED and name in picks]
    return {name: picks[name] for name in dict.fromkeys([*learned, *picks])}


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
    write_atomically(path, render(page).encode("utf-8", "replace"))


def make_page(learner: Learner, context: Context) -> Page:
    """The page of a learner, with its parameters at the end."""
    kind = type(learner).__name__
    sentence, sections = content_of(learner, context)
    first, others = sections[:1], sections[1:]
    sections = [*first, *_preparation(context), *others, *_forgetting(learner), _parameters(learner, context)]
    return Page(context.source or kind, kind, sentence, sections)


def render(page: Page) -> str:
    """The page as HTML."""
    jinja2 = require("jinja2", "reports")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("modicum.plot"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["number_like"] = is_number_like
    now = datetime.now().astimezone()
    date = f"{now.day} {now:%B %Y, %H:%M}"
    template = environment.get_template("report.html")
    return template.render(page=page, light=LIGHT, dark=DARK, version=__version__, date=date)


def _preparation(context: Context) -> list[Section]:
    """What was learned from each column of the source, and which were ignored."""
    if not context.preparation and not context.learned_from:
        return []
    names = ("column", "kind", "what was done")
    decided = [(name, "ignored" if kind == IGNORED else kind, done) for name, kind, done in context.preparation or ()]
    cells = zip(*decided, strict=True)
    columns = [
        Column(name, [clipped(str(cell)) for cell in of_all]) for name, of_all in zip(names, cells, strict=False)
    ]
    blocks = [Table(columns, compact=True)] if columns else []
    said = context.learned_from or ""
    return [Section("Preparation", blocks, f"{said[:1].upper()}{said[1:].rstrip('.')}{'.' * bool(said)}")]


def _forgetting(learner: Learner) -> list[Section]:
    """The half-life, and where the stream changed."""
    half_life, changes = getattr(learner, "half_life", None), getattr(learner, "changes_", [])
    facts = [] if half_life is None else [("half-life", half_life_in_words(half_life))]
    if changes or half_life == "auto":
        facts.append(("changes", changes_in_words(changes)))
    blocks: list[Block] = [Facts(facts)]
    if changes:
        alt = f"Stems over the rows seen: {plural(len(changes), 'change')} of the stream."
        caption = "Where the error rose, and by how much. Grey: until that was noticed."
        blocks.append(figure(changes_over_stream(learner), alt, caption))
    title = "Changes of the stream" if half_life is None else "Forgetting"
    return [Section(title, blocks)] if facts else []


def _parameters(estimator: BaseEstimator, context: Context) -> Section:
    asked = estimator if context.pipeline is None else context.pipeline.steps[-1][1]
    params = asked.get_params(deep=False)
    parameters = Facts([(name, describe(value)) for name, value in params.items()])
    if context.command:
        return Section("Command and parameters", [Code(context.command), parameters])
    return Section("Parameters", [parameters])
