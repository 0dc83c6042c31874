"""Pages from templates, in which every text is escaped."""

from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from modicum._version import __version__
from modicum.plot.formatting import count, duration, percent, plural

_environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    auto_reload=False,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.globals["version"] = __version__
_environment.filters |= {"count": count, "duration": duration, "percent": percent, "plural": plural}


def page(request: Request, template: str, *, status_code: int = 200, **context: Any) -> HTMLResponse:
    """A page with the title of the project and whatever the template needs."""
    title = request.app.state.facts.title
    return HTMLResponse(_environment.get_template(template).render(project_title=title, **context), status_code)
