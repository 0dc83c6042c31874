"""The default page, for learners without a specific one."""

from typing import Any

from modicum.plot.curves import history_over_stream
from modicum.plot.formatting import plural
from modicum.plot.gallery import Exhibit, gallery
from modicum.plot.page import Context, Section
from modicum.plot.pages.shared import Content, at_a_glance, costs, figure
from modicum.rules.budget import format_bytes


def any_learner(learner: Any, context: Context) -> Content:
    sections = [at_a_glance(learner, context)]
    if picks := learner.picks():
        block, left_out = gallery(learner, Exhibit.of(picks), context)
        sections.append(Section(f"{picks.kind.capitalize()}s", [block], left_out))
    if history := getattr(learner, "history_", None):
        columns = [name for name in history if name != "n_seen"]
        figures = [figure(history_over_stream(learner, name), f"Curve: {name} over the stream.") for name in columns]
        sections.append(Section("Over the stream", figures))
    held = format_bytes(learner.nbytes_)
    sentence = f"{type(learner).__name__} learned {plural(learner.n_seen_, 'row')} and holds {held}."
    return sentence, [*sections, costs(learner, context)]
