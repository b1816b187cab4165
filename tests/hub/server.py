"""The stand-in: repositories with their commits, what goes wrong, and the addresses, headers and redirects of the hub
that ``huggingface_hub`` 2 uses.

Large files are served by "another host": the same server, under the name ``localhost`` instead of ``127.0.0.1``.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import unquote, urlsplit

#: Endings of files that the hub keeps by the sha256 of their bytes (Git LFS); all others are Git's own blobs.
LARGE = (".safetensors", ".bin", ".h5", ".parquet")


@dataclass(frozen=True)
class File:
    """A file of a commit."""

    path: str
    content: bytes

    @cached_property
    def sha256(self) -> str:
        """Of a file that Git LFS keeps and another host serves; else empty."""
        return hashlib.sha256(self.content).hexdigest() if self.path.endswith(LARGE) else ""

    @cached_property
    def blob(self) -> str:
        """Git's name of the blob; of a large file, of its pointer."""
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.content)}\n"
        content = pointer.encode() if self.sha256 else self.content
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Repository:
    """A model or a data set.

    Attributes:
        kind: ``model`` or ``dataset``.
        name: OWNER/NAME.
        private: whether nobody else than the owner sees it.
        gated: whether its files are for its owner only.
    """

    kind: str
    name: str
    private: bool = False
    gated: bool = False
    commits: dict[str, dict[str, File]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def commit(self, files: Mapping[str, bytes], sha: str = "") -> str:
        """Adds and replaces files, moves the main branch; returns the commit, whose name may be given."""
        before = self.refs.get("main", "")
        now = self.commits.get(before, {}) | {path: File(path, content) for path, content in files.items()}
        listed = "".join(f"{path} {file.blob}\n" for path, file in sorted(now.items()))
        sha = sha or hashlib.sha1(f"{self.kind} {self.name} {before} {listed}".encode()).hexdigest()
        self.commits[sha], self.refs["main"] = now, sha
        return sha

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the main branch."""
        return {path: file.content for path, file in self.commits.get(self.refs.get("main", ""), {}).items()}


@dataclass
class Fault:
    """The next requests whose ``METHOD PATH`` has a pattern get another answer.

    Attributes:
        where: the pattern.
        status: an HTTP status instead of the answer; 0 leaves it.
        broken_after: the connection breaks off after so many bytes of the content.
        corrupt: the last 20 bytes of the content are zero.
        times: how often; None: always.
        headers: of the status.
    """

    where: str
    status: int = 0
    broken_after: int | None = None
    corrupt: bool = False
    times: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Hub:
    """A running stand-in.

    Attributes:
        kept: kind and name -> repository.
        faults: what goes wrong; a fault that is used up stays without effect.
        log: ``METHOD PATH`` of the requests so far.
    """

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Repository] = {}
        self.faults, self.log, self._lock = list[Fault](), list[str](), Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self.address, self.other_host = (
            f"http://{host}:{self._server.server_port}" for host in ("127.0.0.1", "localhost")
        )
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def add(self, name: str, files: Mapping[str, bytes], kind: str = "model", **options: bool) -> Repository:
        """A new repository with one commit."""
        made = self.kept[kind, name] = Repository(kind, name, **options)
        made.commit(files)
        return made

    def fails(self, where: str, **what) -> None:
        """A fault of the requests whose ``METHOD PATH`` matches."""
        self.faults.append(Fault(where, **what))

    def fault_of(self, request: str) -> Fault:
        """The fault that a request meets, which it uses up."""
        with self._lock:
            for fault in self.faults:
                if fault.times != 0 and re.search(fault.where, request):
                    fault.times = None if fault.times is None else fault.times - 1
                    return fault
        return Fault("")

    def asked(self, pattern: str) -> list[str]:
        """The requests so far whose ``METHOD PATH`` matches."""
        return [one for one in self.log if re.search(pattern, one)]

    def close(self) -> None:
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()


class _Refused(Exception):
    """An answer that is an error: status, the hub's code for it, and its words."""

    def __init__(self, status: int, code: str = "", words: str = "", commit: str = "", **headers: str):
        self.status = status
        named = {"X-Error-Code": code, "X-Error-Message": words, "X-Repo-Commit": commit, **headers}
        self.headers = {name: value for name, value in named.items() if value}


_NAME = r"(?P<name>[^/]+/[^/]+?|[^/]+?)"
_ROUTES = {
    rf"GET /api/(?P<kind>models|datasets)/{_NAME}(/revision/(?P<revision>.+))?": "_info",
    rf"GET /api/(?P<kind>models|datasets)/{_NAME}/tree/(?P<revision>[^/]+)": "_tree",
    rf"(?:GET|HEAD) /(?:(?P<kind>datasets)/)?{_NAME}/resolve/(?P<revision>[^/]+)/(?P<path>.+)": "_resolve",
    r"GET /large/(?P<sha256>[0-9a-f]{64})": "_large",
}


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        request = f"{self.command} {unquote(urlsplit(self.path).path)}"
        self.user = self.headers.get("Authorization", "").removeprefix("Bearer ").removeprefix("token-of-")
        self.hub.log.append(request)
        self.fault = self.hub.fault_of(request)
        try:
            if self.fault.status:
                raise _Refused(self.fault.status, **self.fault.headers)
            for pattern, act in _ROUTES.items():
                if found := re.fullmatch(pattern, request):
                    return getattr(self, act)(**found.groupdict())
            raise _Refused(404)
        except _Refused as error:
            self._json({"error": error.headers.get("X-Error-Message", "")}, error.status, error.headers)

    def _commit(self, kind: str | None, name: str, revision: str, named: bool = False) -> tuple[Repository, str]:
        """Repository and commit, if the user may read it; the hub shows the names of a gated model's files to
        everybody.
        """
        found = self.hub.kept.get(((kind or "models").removesuffix("s"), name))
        if found is None or (found.private and self.user != name.partition("/")[0]):
            raise _Refused(404 if self.user else 401, "RepoNotFound", "Repository not found")
        if found.gated and not named and self.user != name.partition("/")[0]:
            words = (
                f"Access to model {name} is restricted. You must have access to it and be authenticated to access it."
            )
            raise _Refused(403 if self.user else 401, "GatedRepo", words)
        commits = [sha for sha in found.commits if len(revision) >= 7 and sha.startswith(revision)]
        commit = found.refs.get(revision) or (commits[0] if len(commits) == 1 else None)
        if commit is None:
            raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return found, commit

    def _info(self, kind: str, name: str, revision: str | None) -> None:
        found, commit = self._commit(kind, name, revision or "main", named=True)
        siblings = [{"rfilename": path} for path in sorted(found.commits[commit])]
        said = {"id": name, "sha": commit, "private": found.private, "gated": "auto" if found.gated else False}
        self._json({"_id": "0" * 24, "tags": [], "downloads": 0, "likes": 0, "siblings": siblings, **said})

    def _tree(self, kind: str, name: str, revision: str) -> None:
        found, commit = self._commit(kind, name, revision)
        rows = []
        for path, file in sorted(found.commits[commit].items()):
            row = {"type": "file", "path": path, "size": len(file.content), "oid": file.blob}
            lfs = {"oid": file.sha256, "size": len(file.content), "pointerSize": 134}
            rows.append(row | ({"lfs": lfs} if file.sha256 else {}))
        self._json(rows)

    def _resolve(self, kind: str | None, name: str, revision: str, path: str) -> None:
        found, commit = self._commit(kind, name, revision)
        file = found.commits[commit].get(path)
        if file is None:
            raise _Refused(404, "EntryNotFound", "Entry not found", commit)
        headers = {"X-Repo-Commit": commit, "ETag": f'"{file.sha256 or file.blob}"', "Accept-Ranges": "bytes"}
        if not file.sha256:
            return self._content(file.content, headers)
        headers |= {"X-Linked-ETag": f'"{file.sha256}"', "X-Linked-Size": str(len(file.content))}
        return self._send(302, b"", {**headers, "Location": f"{self.hub.other_host}/large/{file.sha256}"})

    def _large(self, sha256: str) -> None:
        commits = [files for one in self.hub.kept.values() for files in one.commits.values()]
        contents = [file.content for files in commits for file in files.values() if file.sha256 == sha256]
        if not contents:
            raise _Refused(404)
        self._content(contents[0], {"ETag": f'"{sha256}"', "Accept-Ranges": "bytes"})

    def _json(self, said: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps(said).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _content(self, content: bytes, headers: dict[str, str]) -> None:
        """The bytes of a file, or a range of them."""
        if self.fault.corrupt:
            content = content[:-20] + bytes(20)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begins = int(asked.group(1)) if asked else 0
        if begins:
            headers["Content-Range"] = f"bytes {begins}-{len(content) - 1}/{len(content)}"
        self._send(206 if begins else 200, content[begins:], headers)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: self.fault.broken_after])
            self.close_connection |= self.fault.broken_after is not None
