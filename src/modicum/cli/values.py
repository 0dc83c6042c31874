"""Parameters from option texts: `0.5`, `false`, `none`, `64 MiB`, `0.1,1,10`, a file of rows, `rbf(0.5)`.

A kernel, an objective, a family or a learner with parameters of its own is written as a call of its name; kernels add
and multiply. Nothing is run but the constructors of modicum: arguments are numbers, words, lists and further such
calls.
"""

import ast
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import modicum
from modicum.cli.learners import command_name as command_name
from modicum.cli.rows_file import RowsFile
from modicum.families import FAMILIES
from modicum.kernels import named as kernels
from modicum.rules.params import ROWS
from modicum.select.objectives import named as objectives

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LITERAL = re.compile(r"[\[{].*[\]}]")
_CALL = re.compile(r".*[A-Za-z][\w-]*\(.*\)")
_DASH = re.compile(r"(?<=[A-Za-z])-(?=[A-Za-z])")
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {ast.Add: operator.add, ast.Mult: operator.mul}
_WORDS = {"true": True, "false": False, "none": None}


def makers() -> dict[str, Callable[..., Any]]:
    """What can be called, by name."""
    learners = {command_name(name): cls for name, cls in modicum.load_all_learners().items()}
    return {**kernels.NAMED, **objectives.NAMED, **FAMILIES, **learners}


def parameter(cls: type[Any], name: str, text: str | None) -> Any:
    """The value of a learner's parameter from the text of its option."""
    constraints = getattr(cls, "_constraints", {}).get(name, ())
    if text is None or text.lower() in _WORDS:
        return None if text is None else _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        return _number(text)
    if (values := _several(text)) is not None and any(constraint.accepts(values) for constraint in constraints):
        return values
    if ROWS in constraints and Path(text).is_file():
        return RowsFile(text)
    if _CALL.fullmatch(text):
        return called(text)
    known = any(constraint.accepts(text) for constraint in constraints)
    if ROWS in constraints and not known:
        raise ValueError(f"--{name.replace('_', '-')} {text}: no such file, and nothing else that it takes.")
    return text if known or text not in makers() else makers()[text]()


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _several(text: str) -> Any:
    """A list or a dict as Python writes it, or numbers with commas between them; None for any other text."""
    numbers = text.split(",")
    if len(numbers) > 1 and all(_NUMBER.fullmatch(number.strip()) for number in numbers):
        return [_number(number.strip()) for number in numbers]
    try:
        return ast.literal_eval(text) if _LITERAL.fullmatch(text) else None
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{text!r} can't be read: {error}") from None


def called(text: str) -> Any:
    """The object that a text such as `rbf(0.5)` describes.

    >>> called("online-greedy(20, kernel=hamming(5))"), called("2 * rbf(0.5) + linear()")
    (OnlineGreedy(kernel=Hamming(5.0), n_prototypes=20), 2.0 * RBF(0.5) + Linear())
    """
    try:
        return _evaluated(ast.parse(_DASH.sub("_", text), mode="eval").body)
    except (SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"{text!r} can't be made: {error}") from None


def _evaluated(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id.replace("_", "-")
        make = makers().get(name)
        if make is None:
            raise ValueError(f"there is no {name!r}; there are {', '.join(makers())}.")
        return make(*map(_evaluated, node.args), **{str(pair.arg): _evaluated(pair.value) for pair in node.keywords})
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluated(node.left), _evaluated(node.right))
    if isinstance(node, ast.Name):
        return _WORDS.get(node.id.lower(), node.id.replace("_", "-"))
    return ast.literal_eval(node)
