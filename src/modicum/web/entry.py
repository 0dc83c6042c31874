"""Who asks: workers and the owner, known by a secret in a cookie that scripts can't read.

Requests that change something also carry a signature of that secret, which pages have and other sites do not.
"""

from typing import Any

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from modicum.exceptions import ModicumError
from modicum.web.store.codes import as_code, is_same, signature
from modicum.web.store.work import find_worker

WORKER, OWNER = "modicum_worker", "modicum_owner"  # what names of cookies begin with
DAYS = 90


class NotKnownError(ModicumError):
    """Nobody who may do this."""


def _cookie(request: Request, kind: str) -> str:
    """The name of a cookie; browsers share cookies between all ports, and so between projects."""
    return f"{kind}_{signature(request.app.state.facts.secret, kind)[:8]}"


def admit(request: Request, to: str, kind: str, secret: str) -> Response:
    """Send a browser on, with a secret that it keeps."""
    answer = RedirectResponse(to, 303)
    answer.set_cookie(
        _cookie(request, kind),
        secret,
        max_age=DAYS * 24 * 3600,
        httponly=True,
        samesite="lax",  # strict ones are not sent when a link in a mail is followed
        secure=base_url(request).startswith("https:"),
    )
    return answer


def base_url(request: Request) -> str:
    """Where people reach the server, with a slash at the end."""
    return request.app.state.url or str(request.base_url)


def code_of(request: Request) -> str:
    """The code of the worker who asks; whether it is one, the database knows."""
    code = as_code(request.cookies.get(_cookie(request, WORKER), ""))
    if not code:
        raise NotKnownError("open the personal link that you were given, or enter your code")
    return code


def known_worker(connection: Any, code: str) -> Any:
    """The worker with a code."""
    found = find_worker(connection, code)
    if found is None:
        raise NotKnownError("your code is not valid any more. Ask whoever invited you for another one")
    return found


def owner_token(request: Request) -> str:
    """The token of whoever asks, if they have one."""
    return request.cookies.get(_cookie(request, OWNER), "")


def check_owner(request: Request) -> None:
    """A dependency of all pages of the owner."""
    if not is_same(owner_token(request), request.app.state.owner_token):
        raise NotKnownError("these pages are the owner's. Open the link that was printed when the server started")


def signed(request: Request, secret: str) -> str:
    """What forms and scripts on a page must send back."""
    return signature(request.app.state.facts.secret, secret)


async def check_worker_signature(request: Request) -> None:
    """A dependency of requests by workers that change something."""
    await _check_signature(request, code_of(request))


async def check_owner_signature(request: Request) -> None:
    """A dependency of requests by the owner that change something."""
    check_owner(request)
    await _check_signature(request, owner_token(request))


async def _check_signature(request: Request, secret: str) -> None:
    given = request.headers.get("x-csrf-token")
    if given is None:
        given = str((await request.form()).get("csrf", ""))
    if not is_same(given, signed(request, secret)):
        raise NotKnownError("this request was not made by one of our pages. Reload the page and try again")


def check_anybody(request: Request, connection: Any) -> None:
    """Workers and the owner may see pictures and sounds."""
    try:
        check_owner(request)
    except NotKnownError:
        known_worker(connection, code_of(request))
