"""Command line options from a learner's constructor: names and defaults from its signature, help from its docstring.

A new learner needs no code here: whatever its constructor takes becomes an option.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from modicum.cli.grouping import EXPERT, LEARNING
from modicum.cli.learners import ALWAYS_ESSENTIAL, ENTRIES, essentials
from modicum.cli.values import makers, parameter
from modicum.contract.learner import Learner

HOW_MANY = ("n_exemplars", "n_clusters", "n_prototypes", "n_components", "n_active")  # -k is the first of these
SHARED_HELP = {"random_state": "A whole number makes the result repeatable."}  # where a docstring has nothing to add
REGULARIZATION = (
    "Weight of the penalty, without a unit: a larger one leaves fewer clusters. auto takes the one whose clusters are "
    "found again in other halves of the rows."
)
SHELL_HELP = {  # where the docstring is about objects of Python
    (
        "CrowdClustering",
        "family",
    ): "Distribution of the points of a cluster, if their number is to be found: diagonal or gaussian.",
    (
        "CrowdClustering",
        "pooled",
    ): "Whether workers share a prior that is learned, so that one with few answers counts as a typical one.",
    ("ExemplarClustering", "dissimilarity"): "sqeuclidean, euclidean, cosine or any other metric name of scikit-learn.",
    ("ExemplarClustering", "initial"): "A file with exemplars to start from; they may be replaced.",
    ("ExemplarClustering", "locked"): "A file with exemplars that are never replaced; they count towards -k.",
    ("ExemplarClustering", "phantom"): "The phantom exemplar: far (farther from every row than any exemplar), the mean "
    "of the source, the origin, random, a number (its dissimilarity to every row), or a file with one row.",
    ("MemoryBoundedMixture", "family"): "Distribution of a component: gaussian, diagonal, or multinomial for counts; "
    'with a prior of your own as in "diagonal(covariance=0.5)".',
    ("MemoryBoundedMixture", "budget"): "Rows that may be held, where a clump counts as the rows that take as many "
    'numbers; or a size such as "64 MiB", which includes components.',
    ("MemoryBoundedTopicModel", "family"): "Distribution of the items of a topic: multinomial for words, gaussian or "
    'diagonal for numbers and pixels; with a prior of your own as in "multinomial(0.05)". Default: by the source.',
    ("KernelRIM", "kernel"): 'rbf, "rbf(0.5)" or another kernel.',
    ("KernelRIM", "regularization"): REGULARIZATION,
    ("RIM", "regularization"): REGULARIZATION,
    ("RIM", "features"): "What boundaries are linear in: linear, the columns; or diffusion along near rows, for "
    "clusters of any shape. Or what describes pictures: descriptors, or module:function of one's own.",
    ("StreamGreedy", "kernel"): 'rbf, "rbf(0.5)" or another kernel.',
}
BY_SOURCE = (("MemoryBoundedTopicModel", "family"),)  # parameters that the source decides, if nobody does

Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write; its ending gives the format.")]
Save = Annotated[Path | None, typer.Option(help="Also save the learner to this state file.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV instead of JSON lines.")]
Table = Annotated[bool, typer.Option("--table", help="Print a table for people instead of JSON lines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a state file even if it is of another learner.")]


def with_options(command: Callable[..., Any], added: Iterable[inspect.Parameter]) -> Callable[..., Any]:
    """`command(..., **params)` with options in place of params."""
    signature = inspect.signature(command)
    fixed = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    taken = {p.name for p in fixed}
    new = {p.name: p for p in added if p.name not in taken}.values()  # of options of one name, the last
    required = [p for p in fixed if p.default is inspect.Parameter.empty]
    optional = [p for p in fixed if p.default is not inspect.Parameter.empty]

    def run(**values: Any) -> Any:
        return command(**values)

    run.__doc__ = command.__doc__
    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p.replace(kind=keyword) for p in (*required, *new, *optional)], return_annotation=None
    )
    return run


def constructor_options(cls: type[Any], *, short: str | None = None) -> list[inspect.Parameter]:
    """An option for each constructor parameter; -k is the one that says how many, or `short`."""
    help_texts = parameter_help(cls)
    short = how_many(cls) if short is None else short
    return [
        option(name, help_texts.get(name, ""), default_text(cls, name), short=name == short, group=group_in(cls, name))
        for name in inspect.signature(cls).parameters
    ]


def group_in(cls: type[Any], name: str) -> str | None:
    """The group of a learner's option in help: few are for everybody. None: as for options that are no learner's."""
    if cls.__name__ not in ENTRIES:
        return LEARNING if name in ALWAYS_ESSENTIAL else None
    basic = {how_many(cls), *essentials(cls.__name__, list(inspect.signature(cls).parameters))}
    return LEARNING if name in basic else EXPERT


def option(name: str, text: str, default: str | None, *, short: bool, group: str | None = None) -> inspect.Parameter:
    """An option that takes a text."""
    flags = [*flags_of(name), *(["-k"] if short else [])]
    made = typer.Option(*flags, help=text, show_default=True, metavar="VALUE", rich_help_panel=group)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[str | None, made]
    )


def flags_of(name: str) -> list[str]:
    """--n-balls for n_balls; a name with capitals may be typed without them."""
    flag = f"--{name.replace('_', '-')}"
    return list(dict.fromkeys([flag.lower(), flag]))


def how_many(cls: type[Any]) -> str:
    """The constructor parameter that `-k` stands for, or nothing: a budget, if that is what comes first."""
    names = list(inspect.signature(cls).parameters)
    return next((name for name in HOW_MANY if name in names), "budget" if names[0] == "budget" else "")


def default_text(cls: type[Any], name: str) -> str | None:
    """A constructor's default as the text that would give it; none if the source decides."""
    if (cls.__name__, name) in BY_SOURCE:
        return None
    default = inspect.signature(cls).parameters[name].default
    return str(default).lower() if isinstance(default, bool) else None if default is None else str(default)


def parameter_help(cls: type[Any]) -> dict[str, str]:
    """What the class docstring says on each parameter, in the words of the shell."""
    doc = inspect.getdoc(cls) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", doc, re.MULTILINE | re.DOTALL)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in (section[1] if section else "").splitlines():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.partition(":")[0].split(",")]
        elif line.strip():
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    own = {name: text for (learner, name), text in SHELL_HELP.items() if learner == cls.__name__}
    return SHARED_HELP | {name: docstring_in_shell_words(text) for name, text in found.items()} | own


def told_in_shell_words(cls: type[Any]) -> tuple[str, ...]:
    """Parameters whose help is not that of the docstring."""
    return tuple(name for learner, name in SHELL_HELP if learner == cls.__name__)


def docstring_in_shell_words(text: str) -> str:
    """A sentence of a docstring without Python.

    >>> docstring_in_shell_words('None: 10 * `n_points` rows, for `fit_on="sample"`, or `modicum.kernels.RBF(0.5)`.')
    'none: 10 * --n-points rows, for --fit-on sample, or "rbf(0.5)".'
    """
    text = re.sub(r"\b(None|True|False)\b", lambda found: found[0].lower(), text)
    return re.sub(r"`([^`]*)`", lambda found: _typed(found[1]), text)


def _typed(code: str) -> str:
    """A piece of Python as one would type it in a shell."""
    if called := re.fullmatch(r"(?:modicum\.\w+\.)?([A-Z]\w*)(\(.*\))?", code):
        names = {getattr(make, "__name__", ""): name for name, make in makers().items()}
        name = names.get(called[1], called[1])
        return f'"{name}{called[2]}"' if called[2] else name
    if given := re.fullmatch(r'(\w+)="?([^"]*)"?', code):
        return f"{flags_of(given[1])[-1]} {given[2]}"
    is_parameter = "_" in code or code == "budget"
    return {"sample_weight": "--weight"}.get(code, flags_of(code)[-1] if is_parameter else code)


def own_values(cls: type[Any], given: dict[str, Any], options: type[Any]) -> dict[str, str]:
    """Values of a learner's parameters that `options` have too, such as --scale true; there they become the default."""
    shared = [name for name in inspect.signature(cls).parameters if name in options.__dataclass_fields__]
    own = {name: given[name] for name in shared if _accepts(cls, name, given[name])}
    given |= {name: getattr(options, name) for name in own}
    return own


def _accepts(cls: type[Any], name: str, text: str) -> bool:
    value = parameter(cls, name, text)
    return any(constraint.accepts(value) for constraint in cls._constraints[name])


def make_learner(cls: type[Learner], texts: dict[str, str | None]) -> Learner:
    """A learner from option texts."""
    return cls(**{name: parameter(cls, name, texts[name]) for name in changed(cls, texts)})


def changed(cls: type[Learner], texts: dict[str, str | None]) -> list[str]:
    """The options that are not at their default."""
    return [name for name, text in texts.items() if text != default_text(cls, name)]
