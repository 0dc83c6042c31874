"""The page of a sample of the stream."""

from typing import Any

import numpy as np

from modicum.plot.formatting import count, plural
from modicum.plot.gallery import Exhibit, gallery
from modicum.plot.page import Context, Section
from modicum.plot.pages.shared import Content, at_a_glance, costs


def reservoir(learner: Any, context: Context) -> Content:
    picks, seen = learner.picks(), plural(learner.n_seen_, "row")
    is_uniform = np.allclose(picks.weights, picks.weights.mean())
    weights = None if is_uniform else picks.weights  # equal ones would only take room
    exhibit = Exhibit(picks.rows, picks.ids, weights, picks.targets, weight_name="weight")
    block, left_out = gallery(learner, exhibit, context)
    if learner.is_exact_:
        sentence = f"All {seen} seen so far are kept."
    elif is_uniform:
        sentence = f"A uniform sample of {plural(len(picks), 'row')} out of {seen}."
    else:
        sentence = f"A weighted sample of {plural(len(picks), 'row')} out of {seen}."
    sections = [
        at_a_glance(learner, context, ("sample", count(len(picks)))),
        Section("Sample", [block], left_out),
        costs(learner, context),
    ]
    return sentence, sections
