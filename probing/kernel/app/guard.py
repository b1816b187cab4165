"""What the server refuses before Streamlit sees it: requests for other hosts, and more files than a visitor may upload.

Streamlit compares the host of websockets only, and bounds each uploaded file, but not all of a visitor together.
"""

import re
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from streamlit import runtime
from streamlit.starlette import App
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from probing.kernel.registry import REPOSITORY

#: Bytes of all files that a visitor has uploaded; one has ``server.maxUploadSize`` at most.
MOST_BYTES = 20_000_000
_UPLOAD = re.compile(r".*/_stcore/upload_file/(?P<session>[^/]+)/(?P<file>[^/]+)")


class Guard:
    """A layer around the server's application (ASGI)."""

    def __init__(self, app: Any):
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        refused = _refused(scope) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)


def _refused(scope: Any) -> PlainTextResponse | None:
    headers = Headers(scope=scope)
    # Whoever watches over a container asks under any name whether it is alive.
    if not scope["path"].endswith("/_stcore/health") and not is_host_allowed(headers.get("host")):
        return PlainTextResponse("unknown host; expected one that --server.allowedHosts names\n", 403)
    if scope["method"] == "PUT" and (upload := _UPLOAD.fullmatch(scope["path"])):
        files = runtime.get_instance().uploaded_file_mgr.file_storage.get(upload["session"], {})  # type: ignore[attr-defined]
        there = sum(len(file.data) for name, file in files.items() if name != upload["file"])
        size = headers.get("content-length", "")
        if not size.isdecimal() or there + int(size) > MOST_BYTES:
            return PlainTextResponse(
                f"all files of a visitor may have {MOST_BYTES:,} bytes together, and {there:,} are there; load the page"
                " again to begin anew\n",
                413,
            )
    return None


#: The app as ``python -m probing.ui`` serves it.
app = App(REPOSITORY / "app.py", middleware=[Middleware(Guard)])
