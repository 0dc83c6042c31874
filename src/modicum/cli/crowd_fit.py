"""`modicum crowd fit ANSWERS`: clusters, a map of the items and a model of each worker, from how workers sorted."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.aims import Aim, Aims
from modicum.cli.crowd_project import ProjectOption, files_of, open_project
from modicum.cli.crowd_report import Images, find_pictures, write_crowd_report
from modicum.cli.grouping import EXPERT, LEARNING
from modicum.cli.output import writer
from modicum.cli.printing import in_shell_words, say
from modicum.cli.progress import Progress
from modicum.cli.safety import check_writing
from modicum.cli.sources import TextReading, as_paths
from modicum.contract.loading import load
from modicum.crowd import CrowdClustering, CrowdFactorization
from modicum.crowd.answers import Answers
from modicum.crowd.learner import CrowdLearner
from modicum.crowd.progress import watching
from modicum.crowd.reading import as_answers
from modicum.exceptions import DataError, StateError
from modicum.plot.formatting import plural

STATE = Path("crowd.mcm")
BASIC = ("n_dims", "workers", "n_clusters", "random_state")  # options that help lists first


class _Models(Aims):
    def _group(self, option: str) -> str:
        return LEARNING if option in BASIC else EXPERT

    def _help(self, option: str) -> str:
        fixed = o.default_text(CrowdFactorization, self.count)
        words = f"The number of clusters. Default: found by clustering; {fixed} for factorization."
        return words if option == self.count else super()._help(option)


MODELS = _Models(
    "--model",
    "n_clusters",
    "clusters",
    {"clustering": Aim(CrowdClustering), "factorization": Aim(CrowdFactorization)},
)

Given = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ANSWERS",
        help="Files, folders, globs or URLs, or - for standard input. Default: the answers in a project.",
        show_default=False,
    ),
]
Map = Annotated[
    str | None,
    typer.Option(
        metavar="MAP",
        help="Columns of ANSWERS, if they have other names: worker=WorkerId,task=HITId. With stars, as in "
        "item=image*,group=group*, a row has several items.",
    ),
]
Model = Annotated[str | None, typer.Option(help="clustering, the default, or factorization, which is simpler.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help=f"State file to write. Default: {STATE}, or that of --continue.")
]
Continue = Annotated[
    Path | None, typer.Option("--continue", help="State file to go on from: ANSWERS are learned on top.")
]
Clusters = Annotated[Path | None, typer.Option(help="Write item, cluster and probability to this file, as a table.")]
Report = Annotated[Path | None, typer.Option(help="Write a report, one HTML page, to this file.")]


def fit(
    answers: Given = None,
    columns: Map = None,
    project: ProjectOption = None,
    model: Model = None,
    output: Output = None,
    clusters: Clusters = None,
    report: Report = None,
    images: Images = None,
    continue_: Continue = None,
    force: o.Force = False,
    **given: Any,
) -> None:
    """Learn how workers sorted items, and save what was learned.

    A row of ANSWERS says that a worker, in a task, put an item in a group: columns worker, task, item and group. Groups
    are compared within an answer only, so every worker may name them at will. Rows without a group are ignored. Without
    ANSWERS, those of a project are learned, and what was learned is kept in it.
    """
    reading = TextReading.take_from(given).text_options()
    learner = _learner(model, given, continue_)
    learner._check_params()
    if images is not None and report is None:
        raise ValueError("--images are for the report. Name its file with --report.")
    if answers and project:
        raise ValueError("crowd fit learns ANSWERS or those of --project. To learn both, use crowd import first.")
    with _opened(answers, columns, project, reading) as source:
        save = output or continue_ or (STATE if source.project is None else None)
        if source.project is not None and (continue_ or images):
            raise ValueError(
                "--continue and --images are for ANSWERS in files; a project has all answers and pictures."
            )
        check_writing(source.files, learner, output=clusters, save=save, report=report, force=force)
        found = source.read()
        for note in found.notes:
            say(in_shell_words(note))
        if (np.bincount(found.numbers()) < 2).all():
            raise DataError(f"{source.name}: no worker sorted two items in one task, so there is nothing to learn.")
        pictures = find_pictures(found.item, images)
        seconds = source.keep(learner, found)
        if save is not None:
            learner.save(save)
        where = save if source.project is None else source.name
        say(f"{_learned(learner, found, continue_)} learned in {seconds:.1f} s; {_found(learner)}; state in {where}")
        if clusters is not None:
            with writer(clusters) as write:
                write(cluster_table(learner))
        if report is not None:
            told = "; ".join([f"learned from {_learned(learner, found, None)}", *found.notes])
            with source.pictures(learner, pictures) as shown:
                facts = {"source": source.name, "seconds": seconds, "learned_from": told}
                write_crowd_report(report, learner, shown, **facts)


def _learn(learner: CrowdLearner, found: Answers, tell: Callable[[float, str], None]) -> float:
    """Learn answers, with progress on the terminal and to `tell`; the seconds that it took."""
    learning = f"learning {plural(found.n_answers, 'answer')}"
    began = time.monotonic()
    with Progress() as progress:

        def show(share: float, words: str) -> None:
            progress.tell(learning, words, completed=round(1000 * share), total=1000)
            tell(share, words)

        with watching(show):
            learner.partial_fit_groupings(found)
            _ = learner.clusters_  # found on request
    return time.monotonic() - began


class _Files:
    """Answers in files."""

    project = None

    def __init__(self, answers: list[str], columns: str | None, reading: dict[str, Any]):
        self.files = answers
        self._paths, self._columns, self._reading = as_paths(answers), columns, reading
        self.name = self._paths.name

    def read(self) -> Answers:
        return as_answers(self._paths, self._columns, **self._reading)

    def keep(self, learner: CrowdLearner, found: Answers) -> float:
        return _learn(learner, found, lambda share, words: None)

    def pictures(self, learner: CrowdLearner, found: dict[Any, str] | None) -> Any:
        return nullcontext(found)


class InProject:
    """Answers in a project, which also keeps what is learned and shows progress on its pages."""

    def __init__(self, project: Any):
        self.project, self.name, self.files = project, project.name, files_of(project)

    def read(self) -> Answers:
        return self.project.answers()

    def keep(self, learner: CrowdLearner, found: Answers) -> float:
        from modicum.web.findings import findings_of
        from modicum.web.store.fits import fitting

        with fitting(self.project, found.n_answers) as fit:
            seconds = _learn(learner, found, fit.tell)
            fit.finish(learner.to_bytes(), findings_of(learner))
        return seconds

    @contextmanager
    def pictures(self, learner: CrowdLearner, found: dict[Any, str] | None) -> Iterator[dict[Any, str]]:
        """Files of the pictures while they are needed."""
        with tempfile.TemporaryDirectory() as folder:
            yield self.project.write_pictures(Path(folder))


@contextmanager
def _opened(
    answers: list[str] | None, columns: str | None, project: str | None, reading: dict[str, Any]
) -> "Iterator[_Files | InProject]":
    if answers:
        yield _Files(answers, columns, reading)
    else:
        with open_project(project, "ANSWERS").closing() as opened:
            yield InProject(opened)


def cluster_table(learner: CrowdLearner) -> dict[str, Any]:
    """The cluster of each item and its probability, cluster by cluster, the surest items first."""
    proba = learner.cluster_proba_[np.arange(len(learner.items_)), learner.clusters_]
    order = np.lexsort((-proba, learner.clusters_))
    return {"item": learner.items_[order], "cluster": learner.clusters_[order], "probability": proba[order]}


def _learner(model: str | None, texts: dict[str, str | None], state: Path | None) -> CrowdLearner:
    """A new learner, or that of a state file, if it is the one asked for."""
    if state is None:
        return MODELS.make(model or "clustering", texts)
    learner = load(state)
    names = {aim.learner: name for name, aim in MODELS.by_name.items()}
    if type(learner) not in names:
        raise StateError(f"{state} is of a {type(learner).__name__}, not of crowd clustering.")
    held = names[type(learner)]
    if model not in (None, held):
        raise StateError(f"{state} was made with --model {held}, not {model}. Leave --model out.")
    asked = MODELS.make(held, texts)
    for name, text in texts.items():
        ours, theirs = (repr(getattr(one, name, None)) for one in (asked, learner))
        if text is not None and ours != theirs:
            flag = o.flags_of(name)[0]
            raise StateError(f"{state} was made with {flag} {theirs}, not {ours}. Leave {flag} out.")
    return learner


def _learned(learner: CrowdLearner, found: Answers, continued: Path | None) -> str:
    answers = plural(found.n_answers, "answer")
    return f"{answers}{', ' + plural(learner.n_seen_, 'label') + ' of pairs in all,' if continued else ''}"


def _found(learner: CrowdLearner) -> str:
    who = f"{plural(len(learner.items_), 'item')} by {plural(len(learner.workers_), 'worker')}"
    return f"{plural(learner.n_clusters_, 'cluster')} of {who}"


command = o.with_options(fit, [*MODELS.options(), *TextReading.options()])
