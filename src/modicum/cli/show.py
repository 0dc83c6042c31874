"""`modicum show STATE`: what a saved learner is, holds and has seen."""

import json
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.base import is_classifier

from modicum.cli.predict import StatePath
from modicum.cli.printing import printable
from modicum.contract.learner import Learner
from modicum.contract.loading import from_content, read_content
from modicum.rules.budget import format_bytes

NEW_LINE = "\n"
MOST_NAMES = 12  # of classes or components to print
BARS = "▁▂▃▄▅▆▇█"


def command(
    path: StatePath, as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False
) -> None:
    """Show what a state file holds."""
    content = read_content(path)
    learner = from_content(content, str(path))
    facts = describe(learner) | _checkpoint(content)
    if as_json:
        print(json.dumps(facts, default=str, indent=2))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        first, *others = printable(str(value)).splitlines()
        print(f"{name:>{width}}  {first}", *(f"{'':{width}}  {line}" for line in others), sep=NEW_LINE)


def describe(learner: Learner) -> dict[str, Any]:
    """Facts about a learner, for people."""
    facts: dict[str, Any] = {"learner": " ".join(repr(learner).split())}
    if not learner._is_fitted():
        return facts | {"rows seen": "none yet"}
    columns = "column" if learner.n_features_in_ == 1 else "columns"
    facts["rows seen"] = f"{learner.n_seen_:,} of {learner.n_features_in_} {columns}"
    facts["held"] = f"{learner.n_retained_:,} rows, {format_bytes(learner.nbytes_)}"
    for name in ("utility_", "loss_", "value_", "noise_", "free_energy_"):
        if hasattr(learner, name):
            facts[name.replace("_", " ").rstrip()] = f"{getattr(learner, name):.6g}"
    if hasattr(learner, "cluster_sizes_"):
        sizes = np.sort(learner.cluster_sizes_)[::-1]
        facts["clusters"] = f"{len(sizes)}; largest {sizes[0]:,.0f} rows, median {np.median(sizes):,.0f}"
    if hasattr(learner, "as_sample"):
        points, weights = learner.as_sample()
        facts["summary"] = f"{len(points):,} points; largest weight {weights.max():,.0f}"
    if hasattr(learner, "clumps_"):
        facts |= _mixture(learner)
    if is_classifier(learner):
        facts |= _classifier(learner)
    history = getattr(learner, "history_", {})
    for name in ("utility", "value", "accuracy", "components"):
        if len(history.get(name, ())):
            facts[f"{name} so far"] = sparkline(history[name])
    if hasattr(learner, "guarantee"):
        with suppress(ValueError):  # no theorem applies to these parameters
            guarantee = learner.guarantee()
            if guarantee.says_something:  # a vacuous bound would only take room
                first, *others = str(guarantee).splitlines()
                facts["guarantee"] = f"{first}{f' And {len(others)} more.' if others else ''}"
    return facts


def _mixture(learner: Any) -> dict[str, Any]:
    """Facts about a mixture that finds its components."""
    names, shares, kept = learner.component_names_, learner.weights_, learner.clumps_
    clumps, single = kept["counts"][kept["is_clump"]], np.count_nonzero(~kept["is_clump"])
    largest = np.argsort(-shares, kind="stable")[:MOST_NAMES]
    shown = ", ".join(f"{names[k]} {shares[k]:.1%}" for k in largest)
    return {
        "components": f"{len(names)}: {shown}{', …' if len(names) > MOST_NAMES else ''}",
        "clumps": f"{len(clumps):,} of {clumps.sum():,.0f} rows; {single:,} rows are single",
    }


def _classifier(learner: Any) -> dict[str, Any]:
    """Facts about a classifier that chooses its settings."""
    shown = ", ".join(str(label) for label in learner.classes_[:MOST_NAMES])
    more = ", …" if len(learner.classes_) > MOST_NAMES else ""
    facts = {
        "classes": f"{len(learner.classes_)}: {shown}{more}",
        "accuracy": f"{learner.accuracy_:.4f} of rows, each classified before it was learned",
    }
    used, *others = map(_setting, learner.candidates_)
    return facts | {"in use": used} | ({"candidates": NEW_LINE.join(others)} if others else {})


def _setting(candidate: dict[str, Any]) -> str:
    """A candidate for the settings of a classifier.

    >>> _setting({"C": 10.0, "center": True, "scale": False, "normalize": True, "mistakes": 7.0})
    'C = 10, centered, not scaled, of unit length: 7 mistakes'
    """
    steps = {"center": "centered", "scale": "scaled", "normalize": "of unit length"}
    words = [word if candidate[name] else f"not {word}" for name, word in steps.items() if name in candidate]
    setting = ", ".join([f"C = {candidate['C']:g}", *words])
    return f"{setting}: {candidate['mistakes']:,.0f} mistakes"


def sparkline(values: np.ndarray, width: int = 48) -> str:
    """A curve in one line of text.

    >>> sparkline(np.arange(4.0), width=4)
    '▁▃▅█'
    """
    picked = np.array([piece.mean() for piece in np.array_split(values, min(width, len(values)))])
    low, high = picked.min(), picked.max()
    level = (picked - low) / (high - low) if high > low else np.ones(len(picked))
    return "".join(BARS[int(x * (len(BARS) - 1))] for x in level)


def _checkpoint(content: dict[str, Any]) -> dict[str, Any]:
    """How far the run of a checkpoint has come; nothing for other state files."""
    mark = content.get("checkpoint")
    if mark is None:
        return {}
    return {"checkpoint": f"{'finished' if mark['finished'] else 'stopped'} at row {mark['position']:,}"}
