"""What owners see and do: how far the project is, what was found, and who works how."""

from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import RedirectResponse, Response

from modicum.exceptions import DataError
from modicum.plot.formatting import count, plural, timestamp
from modicum.web import entry, exports, showing
from modicum.web.overview import TRUSTED, Overview, WorkerFacts, median_sorted, overview, progress
from modicum.web.planning import plan_tasks
from modicum.web.rendering import page
from modicum.web.store import fits
from modicum.web.store.codes import is_same, spaced
from modicum.web.store.project import Project
from modicum.web.store.work import NotFoundError

MOST_INVITED = 500  # workers at once
GLANCE = 8  # workers on the overview

router = APIRouter()
own = APIRouter(prefix="/owner", dependencies=[Depends(entry.check_owner)])
changes = APIRouter(prefix="/owner", dependencies=[Depends(entry.check_owner_signature)])
WorkerId = Annotated[int, Path(ge=1, lt=2**31)]


@router.get("/owner/enter/{token}")
def enter(request: Request, token: str) -> Response:
    if not is_same(token, request.app.state.owner_token):
        raise entry.NotKnownError("this is not the link of the owner. Open the one that the server printed last")
    return entry.admit(request, "/owner", entry.OWNER, token)


# ---- pages -----------------------------------------------------------------------------------------------


@own.get("")
def front(request: Request, planned: int = 0) -> Response:
    now = _overview(request)
    latest = sorted(now.workers, key=lambda who: (-who.n_open, -(who.last or 0.0), who.id))
    return _page(
        request,
        "owner_overview.html",
        current="Overview",
        now=now,
        glance=latest[:GLANCE],
        flagged=[who for who in now.workers if who.flags],
        status=_fit_status(request),
        found=_findings(request),
        few=_few(request),
        planned=planned,
        formats=list(exports.FORMATS),
    )


@own.get("/fit.json")
def fit_status(request: Request) -> dict[str, Any]:
    return _fit_status(request)


@own.get("/progress.json")
def progress_shown(request: Request) -> dict[str, str]:
    """What the overview shows of progress; pages ask for it every few seconds."""
    return progress(_project(request)).shown


@own.get("/map")
def item_map(request: Request) -> Response:
    found = _findings(request)
    if found is None:
        return _page(request, "owner_unfitted.html", current="Map")
    clusters = showing.clusters_of(_project(request), found)
    shown = [_on_map(item) for item in showing.found_items(_project(request), found)]
    data = {"items": shown, "hues": found["hues"]}
    context = {"found": found, "clusters": clusters, "data": data, "few": _few(request)}
    return _page(request, "owner_map.html", current="Map", **context)


@own.get("/clusters")
def clusters(request: Request) -> Response:
    found = _findings(request)
    if found is None:
        return _page(request, "owner_unfitted.html", current="Clusters")
    made, unsorted = showing.clusters_of(_project(request), found), _overview(request).n_unsorted
    context = {"found": found, "clusters": made, "unsorted": unsorted, "few": _few(request)}
    return _page(request, "owner_clusters.html", current="Clusters", **context)


@own.get("/workers")
def workers(request: Request, after: int | None = None) -> Response:
    """All workers; those with ids above `after` were just invited."""
    found, now = _findings(request), _overview(request)
    new = {who.id for who in now.workers if after is not None and who.id > after}
    alike = found["agreement"] if found else {"workers": [], "schools": [], "matrix": []}
    return _page(
        request,
        "owner_workers.html",
        current="Workers",
        now=now,
        everybody=showing.in_order(now.workers, new),
        new=new,
        ids={who.name: who.id for who in now.workers},
        found=found,
        schools=showing.schools_of(alike),
        names=alike["workers"],
        labels=showing.row_labels(alike),
        cells=showing.shaded_cells(alike["matrix"]),
        scale=showing.shaded_cells([[step / 10 for step in range(-10, 11)]]),
    )


@own.get("/workers/{worker}")
def one_worker(request: Request, worker: WorkerId) -> Response:
    who, found = _worker(request, worker), _findings(request)
    known = next((each for each in found["workers"] if each["name"] == who.name), None) if found else None
    heads = {each["number"]: each for each in showing.clusters_of(_project(request), found)} if found else {}
    return _page(
        request,
        "owner_worker.html",
        current="Workers",
        who=who,
        known=known,
        heads=heads,
        told=showing.told_of(known) if known else [],
        answers=showing.answers_of(_project(request), worker),
        most_answers=showing.MOST_ANSWERS,
    )


@own.get("/export/{what}.{ending}")
def export(
    request: Request, what: Literal["answers", "clusters"], ending: Literal["csv", "json", "parquet"]
) -> Response:
    """A table as a file."""
    if what == "answers":
        columns = _project(request).answer_rows()
    elif found := _findings(request):
        columns = exports.cluster_columns(found)
    else:
        raise DataError("there are no clusters yet. Fit the answers first.")
    mime, write = exports.FORMATS[ending]
    named = {"content-disposition": f'attachment; filename="{what}.{ending}"'}
    return Response(write(columns), media_type=mime, headers=named)


# ---- changes ---------------------------------------------------------------------------------------------


@changes.post("/fit")
def fit(request: Request, n_clusters: Annotated[str, Form()] = "") -> Response:
    request.app.state.refit.start(
        _whole("the number of clusters", n_clusters, 1, 1_000) if n_clusters.strip() else None
    )
    return RedirectResponse("/owner#fit", 303)


@changes.post("/invite")
def invite(request: Request, how_many: Annotated[str, Form()] = "", names: Annotated[str, Form()] = "") -> Response:
    """Invite workers by name, or some without names."""
    project = _project(request)
    wanted = [name for name in names.splitlines() if name.strip()]
    if len(wanted) > MOST_INVITED:
        raise DataError(f"there are {count(len(wanted))} names; the limit is {MOST_INVITED} at once.")
    last = max((who.id for who in project.invited()), default=0)
    if wanted:
        project.invite(wanted)
    else:
        project.invite_some(_whole("the number of workers", how_many, 1, MOST_INVITED))
    return RedirectResponse(f"/owner/workers?after={last}", 303)


@changes.post("/tasks")
def tasks(
    request: Request,
    strategy: Annotated[str, Form()],
    task_size: Annotated[str, Form()],
    redundancy: Annotated[str, Form()],
    answers_per_task: Annotated[str, Form()],
) -> Response:
    planned = plan_tasks(
        _project(request),
        strategy,
        _whole("the number of items in a task", task_size, 2, 1_000),
        _whole("the number of tasks per item", redundancy, 1, 1_000),
        _whole("the number of answers per task", answers_per_task, 1, 1_000),
    )
    return RedirectResponse(f"/owner?planned={planned}", 303)


@changes.post("/workers/{worker}/bar")
def bar(request: Request, worker: WorkerId) -> Response:
    return _let_in(request, worker, active=False)


@changes.post("/workers/{worker}/admit")
def admit_again(request: Request, worker: WorkerId) -> Response:
    return _let_in(request, worker, active=True)


def _let_in(request: Request, worker: int, *, active: bool) -> Response:
    _worker(request, worker)
    _project(request).bar(worker, active=active)
    return RedirectResponse(f"/owner/workers/{worker}", 303)


def _whole(what: str, text: str, low: int, high: int) -> int:
    """A whole number that somebody typed."""
    typed = text.strip()
    if not (typed.isascii() and typed.isdecimal() and len(typed) < 10 and low <= int(typed) <= high):
        raise DataError(f"{what} is a whole number from {low} to {count(high)}; got {typed[:20]!r}.")
    return int(typed)


# ---- what pages share ------------------------------------------------------------------------------------


def _page(request: Request, template: str, **context: Any) -> Response:
    base = f"{entry.base_url(request)}w/"
    return page(
        request,
        template,
        csrf=entry.signed(request, entry.owner_token(request)),
        link=lambda who: base + who.code,
        spaced=spaced,
        moment=timestamp,
        shade=showing.shade,
        sure=showing.sure,
        **context,
    )


def _project(request: Request) -> Project:
    return request.app.state.project


def _findings(request: Request) -> dict[str, Any] | None:
    done = fits.last_done(_project(request))
    return None if done is None else _read_findings(_project(request), done.id)


@lru_cache(maxsize=2)
def _read_findings(project: Project, fit: int) -> dict[str, Any] | None:
    """The findings of the last fit, read once."""
    return fits.findings(project)


def _overview(request: Request) -> Overview:
    return overview(_project(request), _findings(request))


def _few(request: Request) -> float | None:
    """How often the median item was sorted before the last fit, if that is too rarely to trust the fit; else None."""
    done = fits.last_done(_project(request))
    times = None if done is None else median_sorted(_project(request), done.started)
    return times if times is not None and times < TRUSTED else None


def _fit_status(request: Request) -> dict[str, Any]:
    """How far a fit is, and what a new one would have to learn from, in words."""
    status = request.app.state.refit.status()
    n_new, is_first = status["new_answers"], status["fit"] is None
    if n_new:
        news = f"{plural(n_new, 'answer')} {'to learn from' if is_first else 'more since then'}."
    elif is_first:
        news = "Nobody has submitted an answer yet, so there is nothing to fit."
    else:
        news = "No answer is new since then. Fitting again makes sense with another number of clusters only."
    return status | {"news": news}


def _worker(request: Request, worker: int) -> WorkerFacts:
    for who in _overview(request).workers:
        if who.id == worker:
            return who
    raise NotFoundError("there is no such worker")


def _on_map(item: dict[str, Any]) -> dict[str, Any]:
    wanted = ("id", "kind", "name", "text", "thumb", "full", "x", "y", "cluster", "sure")
    return {name: item[name] for name in wanted if item.get(name) is not None}


router.include_router(own)
router.include_router(changes)
