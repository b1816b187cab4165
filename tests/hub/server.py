"""The HTTP side of the stand-in: the addresses, headers and redirects of the hub that ``huggingface_hub`` 2 uses.

Large files are served by "another host": the same server, under the name ``localhost`` instead of ``127.0.0.1``.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.faults import Fault, Faults
from tests.hub.repositories import File, Repositories, Repository


@dataclass(frozen=True)
class Request:
    """A request that the server got: its method, path, and the user whose token it carried."""

    method: str
    path: str
    user: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Hub:
    """A running stand-in.

    Attributes:
        repositories, faults: its content, and what goes wrong.
        log: the requests so far.
    """

    def __init__(self) -> None:
        self.repositories, self.faults, self.log = Repositories(), Faults(), list[Request]()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """What ``HF_ENDPOINT`` is set to."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def other_host(self) -> str:
        """Where large files are."""
        return f"http://localhost:{self.port}"

    def asked(self, pattern: str) -> list[str]:
        """The requests so far whose ``METHOD PATH`` matches."""
        return [str(one) for one in self.log if re.search(pattern, str(one))]

    def close(self) -> None:
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()


class _Refused(Exception):
    """An answer that is an error: status, the hub's code for it, and its words."""

    def __init__(self, status: int, code: str = "", words: str = "", commit: str = ""):
        self.status = status
        named = {"X-Error-Code": code, "X-Error-Message": words, "X-Repo-Commit": commit}
        self.headers = {name: value for name, value in named.items() if value}


_NAME = r"(?P<name>[^/]+/[^/]+?|[^/]+?)"
_KIND = r"(?P<kind>models|datasets)"


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        path, self.query = unquote(parts.path), parse_qs(parts.query)
        self.user = self.headers.get("Authorization", "").removeprefix("Bearer ").removeprefix("token-of-")
        request = Request(self.command, path, self.user)
        self.hub.log.append(request)
        self.fault = self.hub.faults.of(str(request)) or Fault("")
        try:
            if self.fault.status:
                refused = _Refused(self.fault.status)
                refused.headers |= self.fault.headers
                raise refused
            for pattern, act in self._routes():
                if found := re.fullmatch(pattern, f"{self.command} {path}"):
                    return act(**found.groupdict())
            raise _Refused(404)
        except _Refused as error:
            body = json.dumps({"error": error.headers.get("X-Error-Message", "")}).encode()
            self._send(error.status, body, {"Content-Type": "application/json", **error.headers})

    def _routes(self) -> list[tuple[str, Callable[..., None]]]:
        return [
            (rf"GET /api/{_KIND}/{_NAME}(/revision/(?P<revision>.+))?", self._info),
            (rf"GET /api/{_KIND}/{_NAME}/tree/(?P<revision>[^/]+)", self._tree),
            (rf"(?:GET|HEAD) /(?:(?P<kind>datasets)/)?{_NAME}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", self._resolve),
            (r"GET /large/(?P<sha256>[0-9a-f]{64})", self._large),
        ]

    def _repository(self, kind: str | None, name: str) -> Repository:
        """The repository of that name, if the user may see it."""
        found = self.hub.repositories.kept.get(((kind or "models").removesuffix("s"), name))
        if found is None or (found.private and self.user != found.owner):
            raise _Refused(404 if self.user else 401, "RepoNotFound", "Repository not found")
        return found

    def _files(self, found: Repository, revision: str) -> tuple[str, dict[str, File]]:
        """Commit and files, if the user may read them."""
        if found.gated and self.user != found.owner:
            words = (
                f"Access to model {found.name} is restricted. You must have access to it and be authenticated to"
                " access it."
            )
            raise _Refused(403 if self.user else 401, "GatedRepo", words)
        commit = found.resolve(revision)
        if commit is None:
            raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit, found.commits[commit]

    def _info(self, kind: str, name: str, revision: str | None) -> None:
        found = self._repository(kind, name)
        # The hub shows the names of a gated model's files to everybody.
        commit = found.resolve(revision or "main")
        if commit is None:
            raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        siblings = [{"rfilename": path} for path in sorted(found.commits[commit])]
        said = {
            "id": name,
            "sha": commit,
            "private": found.private,
            "gated": "auto" if found.gated else False,
            "siblings": siblings,
        }
        self._json({"_id": "0" * 24, "tags": [], "downloads": 0, "likes": 0, **said})

    def _tree(self, kind: str, name: str, revision: str) -> None:
        _, files = self._files(self._repository(kind, name), revision)
        rows = []
        for path, file in sorted(files.items()):
            large = (
                {"lfs": {"oid": file.sha256, "size": len(file.content), "pointerSize": 134}} if file.is_large else {}
            )
            rows.append({"type": "file", "path": path, "size": len(file.content), "oid": file.blob, **large})
        self._json(rows)

    def _resolve(self, kind: str | None, name: str, revision: str, path: str) -> None:
        commit, files = self._files(self._repository(kind, name), revision)
        if path not in files:
            raise _Refused(404, "EntryNotFound", "Entry not found", commit)
        file = files[path]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{file.etag}"', "Accept-Ranges": "bytes"}
        if not file.is_large:
            return self._content(file.content, headers)
        headers |= {"X-Linked-ETag": f'"{file.sha256}"', "X-Linked-Size": str(len(file.content))}
        return self._send(302, b"", {**headers, "Location": f"{self.hub.other_host}/large/{file.sha256}"})

    def _large(self, sha256: str) -> None:
        content = self.hub.repositories.large_file(sha256)
        if content is None:
            raise _Refused(404)
        self._content(content, {"ETag": f'"{sha256}"', "Accept-Ranges": "bytes"})

    def _json(self, said: object, status: int = 200) -> None:
        self._send(status, json.dumps(said).encode(), {"Content-Type": "application/json"})

    def _content(self, content: bytes, headers: dict[str, str]) -> None:
        """The bytes of a file, or a range of them."""
        if self.fault.corrupt:
            content = content[:-20] + bytes(20)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begins = int(asked.group(1)) if asked else 0
        if begins:
            headers["Content-Range"] = f"bytes {begins}-{len(content) - 1}/{len(content)}"
        self._send(206 if begins else 200, content[begins:], headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.fault.broken_after is not None:
            self.wfile.write(body[: self.fault.broken_after])
            self.close_connection = True
            return
        self.wfile.write(body)
