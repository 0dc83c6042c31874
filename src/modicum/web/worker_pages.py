"""What workers see and send."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, FailFast, Field
from typing_extensions import TypedDict  # pydantic takes no other one before Python 3.12

from modicum.web import entry
from modicum.web.rendering import page
from modicum.web.store import work
from modicum.web.store.codes import as_code
from modicum.web.store.project import find_media

router = APIRouter()
MOST_AT_ONCE = 1_000  # moves in one request
WorkId = Annotated[int, Path(ge=1, lt=2**31)]
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
FOREVER = "private, max-age=31536000, immutable"  # what is known by its digest never changes


STRICT = ConfigDict(extra="forbid", strict=True)


class Group(TypedDict):
    __pydantic_config__ = STRICT  # type: ignore[misc]
    id: int
    name: str
    items: Annotated[list[int], FailFast()]


class Move(TypedDict, total=False):
    """The groups after a move, or the number of the move that it goes back to."""

    __pydantic_config__ = STRICT  # type: ignore[misc]
    groups: Annotated[list[Group], FailFast()]
    to: int
    seconds: float


class Moves(BaseModel):
    model_config = STRICT
    first: int
    moves: Annotated[list[Move], Field(min_length=1, max_length=MOST_AT_ONCE), FailFast()]  # one error is enough


class Submission(BaseModel):
    model_config = STRICT
    number: int
    comment: str = ""
    seconds: float = 0.0


# ---- pages -----------------------------------------------------------------------------------------------


@router.get("/")
def front(request: Request) -> Response:
    return page(request, "enter.html", error=None)


@router.post("/enter")
def enter_by_code(request: Request, code: Annotated[str, Form()] = "") -> Response:
    return _enter(request, as_code(code), "This code is not known. Please check it.")


@router.get("/w/{code}")
def enter_by_link(request: Request, code: str) -> Response:
    refusal = "This link is not valid. Check that it is complete, or ask whoever sent it for another one."
    return _enter(request, as_code(code), refusal)


def _enter(request: Request, code: str, refusal: str) -> Response:
    with request.app.state.project.reading() as connection:
        found = work.find_worker(connection, code) if code else None
    if found is None:
        return page(request, "enter.html", status_code=401, error=refusal)
    return entry.admit(request, "/sort", entry.WORKER, code)


@router.get("/sort")
def sort(request: Request) -> Response:
    """The task that the worker has begun, or what there is to do."""
    code = entry.code_of(request)
    csrf = entry.signed(request, code)
    with request.app.state.project.reading() as connection:
        worker = entry.known_worker(connection, code)
        begun = work.open_work(connection, worker.id)
        if begun is not None:
            task = work.task_page(connection, begun) | {"csrf": csrf}
            return page(request, "sort.html", task=task)
        done, left = work.count_work(connection, worker.id)
    facts = request.app.state.facts
    return page(request, "start.html", project=facts, worker=worker, done=done, left=left, csrf=csrf)


@router.get("/media/{digest}")
def media(request: Request, digest: Digest) -> Response:
    with request.app.state.project.reading() as connection:
        entry.check_anybody(request, connection)
        found = find_media(connection, digest)
    if found is None:
        raise work.NotFoundError("there is no such picture or sound")
    headers = {"cache-control": FOREVER, "accept-ranges": "bytes"}
    part = _part(request.headers.get("range", ""), len(found.body))
    if part is None:
        return Response(found.body, media_type=found.mime, headers=headers)
    headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{len(found.body)}"
    return Response(found.body[part.start : part.stop], 206, headers, found.mime)


def _part(asked: str, size: int) -> range | None:
    """The bytes that a browser asks for: some play no sound that they can't read in parts. None: all of them."""
    found = re.fullmatch(r"bytes=(\d{1,12})-(\d{1,12})?", asked)
    if found is None or int(found[1]) >= size:
        return None
    part = range(int(found[1]), min(size, int(found[2] or size) + 1))
    return part or None


# ---- changes ---------------------------------------------------------------------------------------------


@router.post("/sort/start", dependencies=[Depends(entry.check_worker_signature)])
async def start(request: Request) -> Response:
    """Take a task, unless one was begun."""
    code = entry.code_of(request)

    def take(connection: Any) -> None:
        work.take_task(connection, entry.known_worker(connection, code).id)

    await request.app.state.writer(take)
    return RedirectResponse("/sort", 303)


@router.post("/sort/{work_id}/moves", dependencies=[Depends(entry.check_worker_signature)])
async def save_moves(request: Request, work_id: WorkId, sent: Moves) -> dict[str, int]:
    code = entry.code_of(request)
    made = [_as_move(move) for move in sent.moves]
    number = await request.app.state.writer(
        lambda connection: work.save_moves(connection, code, work_id, sent.first, made)
    )
    return {"number": number}


def _as_move(move: Move) -> work.Move:
    groups: Any = move.get("groups")
    return work.Move(groups, move.get("to"), move.get("seconds", 0.0))


@router.post("/sort/{work_id}/submit", dependencies=[Depends(entry.check_worker_signature)])
async def submit(request: Request, work_id: WorkId, sent: Submission) -> dict[str, int]:
    code = entry.code_of(request)
    await request.app.state.writer(
        lambda connection: work.submit(connection, code, work_id, sent.number, sent.comment, sent.seconds)
    )
    return {"number": sent.number}
