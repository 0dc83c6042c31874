"""The application: pages for workers and for the owner of one project."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from modicum.exceptions import DataError
from modicum.web import owner_pages, worker_pages
from modicum.web.entry import NotKnownError
from modicum.web.refit import Refit
from modicum.web.rendering import page
from modicum.web.shield import Shield
from modicum.web.store.database import READERS, DatabaseError
from modicum.web.store.project import Project
from modicum.web.store.work import ConflictError, NotFoundError
from modicum.web.writer import Writer

logger = logging.getLogger(__name__)
STATIC = Path(__file__).parent / "static"


def make_app(project: Project, owner_token: str, url: str | None = None) -> Any:
    """An ASGI application for a project; who has the token is its owner. `url` is where people reach it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = READERS
        app.state.writer = Writer(project)
        app.state.refit = Refit(project)
        yield
        app.state.refit.close()
        app.state.writer.close()
        project.close()  # what SQLite keeps beside the file is written into it

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.project = project
    app.state.owner_token = owner_token
    app.state.url = None if url is None else url.rstrip("/") + "/"
    app.state.facts = project.facts()
    app.include_router(worker_pages.router)
    app.include_router(owner_pages.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for kind, answer in REFUSALS.items():
        app.add_exception_handler(kind, answer)
    return Shield(app)


# ---- what is refused, in words ---------------------------------------------------------------------------


def _said(request: Request, status: int, words: str, heading: str, **more: Any) -> Response:
    """An error as JSON for scripts, and as a page for people."""
    words = words[:1].upper() + words[1:] + "." * (not words.endswith("."))
    if "text/html" in request.headers.get("accept", ""):
        link, link_text = _way_out(request, status)
        return page(
            request,
            "message.html",
            status_code=status,
            heading=heading,
            text=words,
            link=link,
            link_text=link_text,
        )
    return JSONResponse({"error": words, **more}, status)


def _way_out(request: Request, status: int) -> tuple[str | None, str]:
    """Where to go on after an error: a link and its text."""
    if request.url.path.startswith("/owner"):
        return (None, "") if status == 401 else ("/owner", "Back to the overview")
    return ("/", "Enter your code") if status == 401 else ("/sort", "Continue")


def _conflict(request: Request, error: Any) -> Response:
    return _said(request, 409, str(error), "That was too late", number=error.number, submitted=error.submitted)


def _not_found(request: Request, error: Any) -> Response:
    return _said(request, 404, str(error), "Not found")


def _not_known(request: Request, error: Any) -> Response:
    return _said(request, 401, str(error), "Please open your link again")


def _wrong(request: Request, error: Any) -> Response:
    return _said(request, 422, str(error), "That does not work")


def _malformed(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return _said(request, 422, f"{where}: {first['msg']}", "That does not work")


def _broken(request: Request, error: Any) -> Response:
    logger.error("%s", error)
    return _said(request, 503, "The database can't be reached. Nothing is lost: please try again", "Please try again")


def _http(request: Request, error: Any) -> Response:
    words = {404: "There is no such page", 405: "That can't be done here"}.get(error.status_code, str(error.detail))
    return _said(request, error.status_code, words, "Not found" if error.status_code == 404 else "That does not work")


REFUSALS: dict[Any, Any] = {
    ConflictError: _conflict,
    NotFoundError: _not_found,
    NotKnownError: _not_known,
    DatabaseError: _broken,
    DataError: _wrong,
    RequestValidationError: _malformed,
    HTTPException: _http,
}
