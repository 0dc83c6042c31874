"""`modicum show STATE`: what a saved learner is, holds and has seen."""

import json
import math
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.base import is_classifier

from modicum.cli.crowd_facts import crowd_numbers, describe_crowd
from modicum.cli.picks import estimated
from modicum.cli.predict import StatePath
from modicum.cli.printing import printable
from modicum.cluster.information.words import doubt, how_chosen, known_labels
from modicum.contract.loading import from_content, read_content
from modicum.drift import changes_in_words, half_life_in_words
from modicum.pipeline import StreamPipeline
from modicum.pipeline.kinds import IGNORED
from modicum.rows import n_rows
from modicum.rules.budget import format_bytes

NEW_LINE = "\n"
MOST_NAMES = 12  # of columns, classes or components to print
MOST_TOPICS = 40
MOST_WORDS = 8  # of a topic
BARS = "▁▂▃▄▅▆▇█"
MEASURES = ("utility_", "loss_", "value_", "noise_", "free_energy_")
CURVES = ("utility", "value", "accuracy", "components", "topics", "perplexity")


def command(
    state: StatePath, as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False
) -> None:
    """Show what a state file holds."""
    content = read_content(state)
    learner = from_content(content, str(state))
    mark = content.get("checkpoint")
    if as_json:
        facts = numbers(learner)
        if mark is not None:
            facts["checkpoint"] = {"finished": mark["finished"], "position": mark["position"]}
        print(json.dumps(as_plain(facts), indent=2))
        return
    told = describe(learner)
    if mark is not None:
        told["checkpoint"] = f"{'finished' if mark['finished'] else 'stopped'} at row {mark['position']:,}"
    width = max(map(len, told))
    for name, value in told.items():
        first, *others = printable(str(value)).splitlines()
        print(f"{name:>{width}}  {first}", *(f"{'':{width}}  {line}" for line in others), sep=NEW_LINE)


# ---- for programs ------------------------------------------------------------------------------------


def numbers(learner: Any) -> dict[str, Any]:
    """Facts about a learner, for programs."""
    if isinstance(learner, StreamPipeline) and learner._is_fitted():
        return numbers(learner.learner_) | _of_pipeline(learner)
    facts: dict[str, Any] = {"learner": type(learner).__name__, "params": learner.get_params(deep=False)}
    if not learner._is_fitted():
        return facts | {"rows_seen": 0}
    facts |= {
        "rows_seen": learner.n_seen_,
        "n_columns": learner.n_features_in_,
        "columns": learner.column_names_,
        "held_rows": learner.n_retained_,
        "nbytes": learner.nbytes_,
    }
    facts |= {name.rstrip("_"): getattr(learner, name) for name in MEASURES if hasattr(learner, name)}
    if hasattr(learner, "held_out_rows_"):
        facts["held_out_rows"] = n_rows(learner.held_out_rows_)
    if hasattr(learner, "cluster_sizes_"):
        facts["clusters"] = {"count": len(learner.cluster_sizes_), "sizes": learner.cluster_sizes_}
    if hasattr(learner, "as_sample"):
        points, weights = learner.as_sample()
        facts["summary"] = {"points": len(points), "largest_weight": weights.max()}
    if hasattr(learner, "clumps_"):
        facts |= _mixture_numbers(learner)
    if hasattr(learner, "predict_items"):
        facts |= _topic_numbers(learner)
    if hasattr(learner, "conditional_entropy"):
        facts |= _information_numbers(learner)
    if is_classifier(learner):
        facts |= {"classes": learner.classes_, "accuracy": learner.accuracy_, "candidates": learner.candidates_}
    facts |= crowd_numbers(learner)
    if getattr(learner, "half_life", None) is not None:
        facts["half_life"] = learner.half_life
        if hasattr(learner, "changes_"):
            facts["changes"] = [{"row": change.row, "since": change.since} for change in learner.changes_]
    history = getattr(learner, "history_", {})
    if any(len(history.get(name, ())) for name in CURVES):
        facts["history"] = {name: history[name] for name in ("n_seen", *CURVES) if name in history}
    return facts | _guarantee(learner)


def _of_pipeline(pipeline: StreamPipeline) -> dict[str, Any]:
    """Facts about a pipeline that differ from those about its last step."""
    encoder = pipeline.encoder_
    decided = [] if encoder is None else encoder.decisions_
    return {
        "params": pipeline.steps[-1][1].get_params(deep=False),  # with the whole budget, which records share
        "rows_seen": pipeline.n_seen_,
        "n_columns": pipeline.n_features_in_,
        "columns": pipeline.column_names_,
        "held_rows": pipeline.n_retained_,
        "nbytes": pipeline.nbytes_,
        "learned_from": pipeline.summary_,
        "preparation": [{"column": name, "kind": kind, "what": what} for name, kind, what in decided],
    }


def _mixture_numbers(learner: Any) -> dict[str, Any]:
    kept = learner.clumps_
    pairs = zip(learner.component_names_, learner.weights_, strict=True)
    clumps = kept["counts"][kept["is_clump"]]
    return {
        "components": [{"name": name, "weight": weight} for name, weight in pairs],
        "clumps": {"count": len(clumps), "rows": clumps.sum(), "single_rows": np.count_nonzero(~kept["is_clump"])},
    }


def _topic_numbers(learner: Any) -> dict[str, Any]:
    words = getattr(learner, "topics_", None)
    topics = [{"topic": k, "weight": weight} for k, weight in enumerate(learner.weights_)]
    for k, topic in enumerate(topics):
        topic |= {"mean": learner.components_[k]} if words is None else {"words": words[k]}
    return {"documents": learner.n_documents_, "topics": topics}


def _information_numbers(learner: Any) -> dict[str, Any]:
    sizes = {"count": learner.n_clusters_, "names": learner.classes_, "sizes": learner.weights_ * learner.n_seen_}
    return {
        "clusters": sizes,
        "mutual_information": learner.mutual_information_,
        "regularization": learner.regularization_,
        "choice": learner.choice_,
        "is_sure": not doubt(learner),
    }


def _guarantee(learner: Any) -> dict[str, Any]:
    if hasattr(learner, "guarantee"):
        with suppress(ValueError):  # no theorem applies to these parameters
            found = learner.guarantee()
            names = ("confidence", "conditions", "says_something")
            return {"guarantee": {"text": str(found)} | {name: getattr(found, name) for name in names}}
    return {}


def as_plain(value: Any) -> Any:
    """A value as JSON has it: numbers without numpy's types, null for those that are not finite.

    >>> as_plain({"sizes": np.array([1.0, np.nan]), "n": np.int64(3), "kernel": slice(2)})
    {'sizes': [1.0, None], 'n': 3, 'kernel': 'slice(None, 2, None)'}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): as_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


# ---- for people --------------------------------------------------------------------------------------


def describe(learner: Any) -> dict[str, Any]:
    """Facts about a learner, for people."""
    if isinstance(learner, StreamPipeline) and learner._is_fitted():
        return _describe_pipeline(learner)
    facts: dict[str, Any] = {"learner": " ".join(repr(learner).split())}
    if not learner._is_fitted():
        return facts | {"rows seen": "none yet"}
    columns = "column" if learner.n_features_in_ == 1 else "columns"
    facts["rows seen"] = f"{learner.n_seen_:,} of {learner.n_features_in_} {columns}"
    if learner.column_names_:
        facts["columns"] = _some(learner.column_names_)
    facts["held"] = f"{learner.n_retained_:,} rows, {format_bytes(learner.nbytes_)}"
    for name in MEASURES:
        if hasattr(learner, name):
            facts[name.replace("_", " ").rstrip()] = f"{getattr(learner, name):.6g}"
    if hasattr(learner, "held_out_rows_"):
        facts["loss"] += estimated(learner)
    if hasattr(learner, "cluster_sizes_"):
        sizes = np.sort(learner.cluster_sizes_)[::-1]
        facts["clusters"] = f"{len(sizes)}; largest {sizes[0]:,.0f} rows, median {np.median(sizes):,.0f}"
    if hasattr(learner, "as_sample"):
        points, weights = learner.as_sample()
        facts["summary"] = f"{len(points):,} points; largest weight {weights.max():,.0f}"
    if hasattr(learner, "clumps_"):
        facts |= _mixture(learner)
    if hasattr(learner, "predict_items"):
        facts |= _topics(learner)
    if hasattr(learner, "conditional_entropy"):
        facts |= _information(learner)
    if is_classifier(learner):
        facts |= _classifier(learner)
    facts |= describe_crowd(learner) | _forgetting(learner)
    history = getattr(learner, "history_", {})
    for name in CURVES:
        values = np.asarray(history.get(name, ()))
        if np.isfinite(values).any():
            facts[f"{name} so far"] = sparkline(values[np.isfinite(values)])  # some are not known at first
    for found in _guarantee(learner).values():
        if found["says_something"]:  # a vacuous bound would only take room
            first, *others = found["text"].splitlines()
            facts["guarantee"] = f"{first}{f' And {len(others)} more.' if others else ''}"
    return facts


def _forgetting(learner: Any) -> dict[str, str]:
    """Facts about a learner that forgets: its half-life, and where it found changes."""
    if getattr(learner, "half_life", None) is None:
        return {}
    facts = {"half-life": half_life_in_words(learner.half_life)}
    return facts | ({"changes": changes_in_words(learner.changes_)} if learner.half_life == "auto" else {})


def _some(names: Any) -> str:
    """The first of some names."""
    return f"{', '.join(map(str, names[:MOST_NAMES]))}{', …' if len(names) > MOST_NAMES else ''}"


def _describe_pipeline(pipeline: StreamPipeline) -> dict[str, Any]:
    own = describe(pipeline.learner_)
    facts = {
        "learner": " ".join(repr(pipeline.steps[-1][1]).split()),  # with the whole budget, which records share
        "rows seen": f"{pipeline.n_seen_:,}",
        "learned from": pipeline.summary_.removeprefix("learned from "),
    }
    if pipeline.encoder_ is not None:
        decided = pipeline.encoder_.decisions_
        used = [name for name, kind, _ in decided if kind != IGNORED]
        kinds = [f"{kind}d" if kind == IGNORED else kind for _, kind, _ in decided[:MOST_NAMES]]
        shown = [f"{name} ({kind}): {what}" for kind, (name, _, what) in zip(kinds, decided, strict=False)]
        more = [f"and {len(decided) - MOST_NAMES:,} more"] if len(decided) > MOST_NAMES else []
        facts |= {
            "preparation": NEW_LINE.join(shown + more),
            "columns": f"{len(used):,} of {len(decided):,}: {_some(used)}",
        }
    held = f"{pipeline.n_retained_:,} rows, {format_bytes(pipeline.nbytes_)}"
    return facts | own | facts | {"held": held}


def _mixture(learner: Any) -> dict[str, Any]:
    """Facts about a mixture that finds its components."""
    names, shares, kept = learner.component_names_, learner.weights_, learner.clumps_
    clumps, single = kept["counts"][kept["is_clump"]], np.count_nonzero(~kept["is_clump"])
    largest = np.argsort(-shares, kind="stable")
    return {
        "components": f"{len(names)}: {_some([f'{names[k]} {shares[k]:.1%}' for k in largest])}",
        "clumps": f"{len(clumps):,} of {clumps.sum():,.0f} rows; {single:,} rows are single",
    }


def _topics(learner: Any) -> dict[str, Any]:
    """Facts about a topic model: its largest topics, by their words or, of numbers, by their shares."""
    shares = learner.weights_
    largest = np.argsort(-shares, kind="stable")
    words = getattr(learner, "topics_", None)
    facts = {"documents": f"{learner.n_documents_:,}"}
    if words is None:
        return facts | {"topics": f"{len(shares)}: {_some([f'topic {k} {shares[k]:.1%}' for k in largest])}"}
    shown = [f"{k:>4} {shares[k]:>6.1%}  {', '.join(words[k][:MOST_WORDS])}" for k in largest[:MOST_TOPICS]]
    more = [f"and {len(shares) - MOST_TOPICS:,} more"] if len(shares) > MOST_TOPICS else []
    return facts | {"topics": NEW_LINE.join([f"{len(shares)}", *shown, *more])}


def _information(learner: Any) -> dict[str, Any]:
    """Facts about clusters that a classifier tells apart."""
    names, shares = learner.classes_, learner.weights_
    largest = np.argsort(-shares, kind="stable")
    word = "" if known_labels(learner) else "cluster "
    facts = {
        "clusters": f"{len(names)}: {_some([f'{word}{names[k]} {shares[k]:.1%}' for k in largest])}",
        "information": f"{max(0.0, learner.mutual_information_):.4g} nats, of at most {np.log(len(names)):.4g}",
        "regularization": f"{learner.regularization_:.4g}, {how_chosen(learner)}",
        "labels": known_labels(learner),
        "not sure": doubt(learner),
    }
    return {name: text for name, text in facts.items() if text}


def _classifier(learner: Any) -> dict[str, Any]:
    """Facts about a classifier that chooses its settings."""
    facts = {
        "classes": f"{len(learner.classes_)}: {_some(learner.classes_)}",
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
    certain = ["certain rows skipped"] if candidate.get("skips_certain") else []
    setting = ", ".join([f"C = {candidate['C']:g}", *certain, *words])
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
