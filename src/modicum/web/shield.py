"""What every request passes: bodies of bounded size, no requests that other sites forged, and headers that say so."""

from typing import Any

from starlette.exceptions import HTTPException

MOST_BYTES = 1 << 20  # of a body: a thousand moves of sixty items that waited for a connection
TOO_LARGE = f"A request has at most {MOST_BYTES:,} bytes"
SAFE = ("GET", "HEAD", "OPTIONS")
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
        b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with no-referrer, browsers hide the origin of forms, too
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]


class Shield:
    """An ASGI application around another one."""

    def __init__(self, app: Any):
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        n_bytes = 0

        async def guarded_send(message: Any) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                is_static = scope["path"].startswith("/static/")  # browsers may keep these, and ask if they changed
                caching = b"no-cache" if is_static else b"no-store"
                more = [*HEADERS, (b"cache-control", caching)]
                message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in known)]
            await send(message)

        async def counted() -> Any:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > MOST_BYTES:
                raise HTTPException(413, TOO_LARGE)
            return message

        if _is_forged(scope, headers):
            await _refuse(guarded_send, 403, "this request comes from another site")
        elif _length(headers) > MOST_BYTES:
            await _refuse(guarded_send, 413, TOO_LARGE)
        else:
            await self._app(scope, counted, guarded_send)


def _is_forged(scope: Any, headers: dict[bytes, str]) -> bool:
    """Whether a browser says that a page of another site sent a request that changes something."""
    if scope["method"] in SAFE:
        return False
    if site := headers.get(b"sec-fetch-site"):
        return site not in ("same-origin", "none")
    origin = headers.get(b"origin")
    return origin is not None and origin.partition("://")[2] != headers.get(b"host")


def _length(headers: dict[bytes, str]) -> int:
    """The length that a request says its body has; 0 if it says none."""
    said = headers.get(b"content-length", "")
    return int(said) if said.isdecimal() else 0


async def _refuse(send: Any, status: int, words: str) -> None:
    body = f'{{"error": "{words}"}}'.encode()
    kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*kind, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
