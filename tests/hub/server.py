"""The stand-in: repositories with their commits, what goes wrong, and the addresses, headers and redirects of the hub
that ``huggingface_hub`` 2 uses.

Large files are served by "another host": the same server, under the name ``localhost`` instead of ``127.0.0.1``. It
takes addresses that the hub signed, another one for each download, and no token of a user.
"""

import base64
import hashlib
import json
import re
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any
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

    def commit(self, files: Mapping[str, bytes | None], sha: str = "") -> str:
        """Adds, replaces, and deletes (without content) files; moves the main branch, and returns the commit."""
        before = self.refs.get("main", "")
        made = {path: File(path, content) for path, content in files.items() if content is not None}
        kept = {path: file for path, file in self.commits.get(before, {}).items() if path not in files}
        now = kept | made
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
        body: an answer with status 200 and these bytes as HTML, as a captive portal gives it.
        broken_after: the connection breaks off after so many bytes of the content; of HEAD, before the answer.
        reset: that break is one that the other side notices as an error, not as an end.
        silent: no answer comes.
        slow: the content comes in ten parts with a pause before each.
        whole: a range is ignored.
        corrupt: the last 20 bytes of the content are zero.
        times: how often; None: always.
        headers: of the status.
    """

    where: str
    status: int = 0
    body: bytes | None = None
    broken_after: int | None = None
    reset: bool = False
    silent: bool = False
    slow: bool = False
    whole: bool = False
    corrupt: bool = False
    times: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def shutdown_request(self, request: Any) -> None:
        # Without the polite end of a stream, which would come before a reset.
        self.close_request(request)


class Hub:
    """A running stand-in.

    Attributes:
        kept: kind and name -> repository.
        faults: what goes wrong; a fault that is used up stays without effect.
        log: ``METHOD PATH`` of the requests so far.
        moved: kind and old name of repositories -> the name that the hub leads to.
    """

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Repository] = {}
        self.faults, self.log, self._lock = list[Fault](), list[str](), Lock()
        self.moved: dict[tuple[str, str], str] = {}
        self.uploaded, self.signed = dict[str, bytes](), set[str]()
        self.closed = Event()
        self._server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self.address, self.other_host = (
            f"http://{host}:{self._server.server_port}" for host in ("127.0.0.1", "localhost")
        )
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def add(self, name: str, files: Mapping[str, bytes], kind: str = "model", **options: Any) -> Repository:
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

    @property
    def stored(self) -> dict[str, bytes]:
        """Large files by their sha256: those that were uploaded, and those of all commits."""
        commits = [files for one in self.kept.values() for files in one.commits.values()]
        return self.uploaded | {file.sha256: file.content for files in commits for file in files.values()}

    def close(self) -> None:
        """Stops the server, and the answers that are on their way."""
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()


class _Refused(Exception):
    """An answer that is an error: status, the hub's code for it, and its words."""

    def __init__(self, status: int, code: str = "", words: str = "", commit: str = "", **headers: str):
        self.status = status
        named = {"X-Error-Code": code, "X-Error-Message": words, "X-Repo-Commit": commit, **headers}
        self.headers = {name: value for name, value in named.items() if value}


_NAME = r"(?P<name>[^/]+/[^/]+?|[^/]+?)"
_KIND = r"(?P<kind>models|datasets)"
_ROUTES = {
    rf"GET /api/{_KIND}/{_NAME}(/revision/(?P<revision>.+))?": "_info",
    rf"GET /api/{_KIND}/{_NAME}/tree/(?P<revision>[^/]+)": "_tree",
    rf"(?:GET|HEAD) /(?:(?P<kind>datasets)/)?{_NAME}/resolve/(?P<revision>[^/]+)/(?P<path>.+)": "_resolve",
    rf"(?:GET|HEAD) /api/resolve-cache/{_KIND}/{_NAME}/(?P<revision>[0-9a-f]{{40}})/(?P<path>.+)": "_small",
    r"GET /large/(?P<sha256>[0-9a-f]{64})": "_large",
    r"POST /api/repos/create": "_create",
    r"POST /api/validate-yaml": "_valid",
    rf"POST /api/{_KIND}/{_NAME}/preupload/main": "_modes",
    rf"POST /(?:(?P<kind>datasets)/)?{_NAME}\.git/info/lfs/objects/batch": "_batch",
    r"PUT /large/(?P<sha256>[0-9a-f]{64})": "_upload",
    rf"POST /api/{_KIND}/{_NAME}/commit/main": "_send_commit",
}


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = f"{self.command} {unquote(urlsplit(self.path).path)}"
        self.user = self.headers.get("Authorization", "").removeprefix("Bearer ").removeprefix("token-of-")
        self.hub.log.append(request)
        self.fault = self.hub.fault_of(request)
        if self.fault.silent:
            self.hub.closed.wait()
        if self.fault.silent or (self.fault.broken_after is not None and self.command == "HEAD"):
            return self._break_off()
        try:
            if self.fault.status:
                raise _Refused(self.fault.status, **self.fault.headers)
            if self.fault.body is not None:
                return self._send(200, self.fault.body, {"Content-Type": "text/html"})
            for pattern, act in _ROUTES.items():
                if found := re.fullmatch(pattern, request):
                    return getattr(self, act)(**found.groupdict())
            raise _Refused(404)
        except _Refused as error:
            self._json({"error": error.headers.get("X-Error-Message", "")}, error.status, error.headers)

    do_HEAD = do_POST = do_PUT = do_GET

    def _break_off(self) -> None:
        self.close_connection = True
        if self.fault.reset:
            # Nothing is left to send when it is closed.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.connection.shutdown(socket.SHUT_RDWR)

    def _commit(self, kind: str | None, name: str, revision: str, named: bool = False) -> tuple[Repository, str]:
        """Repository and commit, if the user may read it; the hub shows the names of a gated model's files to
        everybody.
        """
        key = (kind or "models").removesuffix("s"), name
        if now := self.hub.moved.get(key):
            raise _Refused(307, Location=self.path.replace(name, now, 1))
        found = self.hub.kept.get(key)
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
        etag = file.sha256 or file.blob
        headers = {"X-Repo-Commit": commit, "X-Linked-ETag": f'"{etag}"', "X-Linked-Size": str(len(file.content))}
        if not file.sha256:
            at = f"/api/resolve-cache/{kind or 'models'}/{name}/{commit}/{path}?etag=%22{etag}%22"
            return self._send(307, b"Temporary Redirect", {**headers, "ETag": f'W/"{etag[:10]}"', "Location": at})
        with self.hub._lock:
            self.hub.signed.add(signature := f"Signature={len(self.hub.log)}-{len(self.hub.signed)}")
        at = f"{self.hub.other_host}/large/{etag}?Expires=3600&{signature}"
        return self._send(302, b"", {**headers, "ETag": f'"{etag}"', "Location": at})

    def _small(self, kind: str, name: str, revision: str, path: str) -> None:
        found, commit = self._commit(kind, name, revision)
        file = found.commits[commit][path]
        # An intermediary that compresses makes an etag a weak one.
        self._content(file.content, {"X-Repo-Commit": commit, "ETag": f'W/"{file.blob}"', "Accept-Ranges": "bytes"})

    def _large(self, sha256: str) -> None:
        signature = self.path.rpartition("&")[2]
        if self.user or signature not in self.hub.signed:
            raise _Refused(400 if self.user else 403)
        if (content := self.hub.stored.get(sha256)) is None:
            raise _Refused(404)
        self._content(content, {"ETag": f'"{sha256}"', "Accept-Ranges": "bytes"})

    def _owned(self, kind: str | None, name: str) -> Repository:
        """A repository that the user may change."""
        found, _ = self._commit(kind, name, "main")
        if self.user != name.partition("/")[0]:
            raise _Refused(403 if self.user else 401, "", "You don't have the rights to write to this repository")
        return found

    def _create(self) -> None:
        asked = json.loads(self.body)
        kind, name = asked.get("type", "model"), f"{asked['organization']}/{asked['name']}"
        if self.user != asked["organization"]:
            raise _Refused(403 if self.user else 401, "", "You don't have the rights to create this repository")
        address = f"{self.hub.address}/{'datasets/' * (kind == 'dataset')}{name}"
        if (kind, name) in self.hub.kept:
            return self._json({"error": "You already created this repository", "url": address}, 409)
        self.hub.add(name, {".gitattributes": b""}, kind, private=asked.get("visibility") == "private")
        return self._json({"url": address})

    def _valid(self) -> None:
        self._json({"warnings": [], "errors": []})

    def _modes(self, kind: str, name: str) -> None:
        there = self._owned(kind, name).commits[self._commit(kind, name, "main")[1]]
        rows = []
        for path in (row["path"] for row in json.loads(self.body)["files"]):
            oid = there[path].sha256 or there[path].blob if path in there else None
            mode = "lfs" if path.endswith(LARGE) else "regular"
            rows.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        self._json({"files": rows})

    def _batch(self, kind: str | None, name: str) -> None:
        self._owned(kind, name)
        rows = json.loads(self.body)["objects"]
        for row in (row for row in rows if row["oid"] not in self.hub.stored):
            row["actions"] = {"upload": {"href": f"{self.hub.other_host}/large/{row['oid']}?Signature=upload"}}
        self._json({"transfer": "basic", "objects": rows})

    def _upload(self, sha256: str) -> None:
        self.hub.uploaded[sha256] = self.body
        self._send(200, b"", {})

    def _send_commit(self, kind: str, name: str) -> None:
        made, files = self._owned(kind, name), dict[str, bytes | None]()
        for row in map(json.loads, self.body.splitlines()):
            told = row["value"]
            if row["key"] == "deletedFile":
                files[told["path"]] = None
            elif row["key"] != "header":
                large = row["key"] == "lfsFile"
                files[told["path"]] = self.hub.uploaded[told["oid"]] if large else base64.b64decode(told["content"])
        commit = made.commit(files)
        self._json({"commitUrl": f"{self.hub.address}/{name}/commit/{commit}", "commitOid": commit})

    def _json(self, said: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        limits = {"RateLimit": '"api";r=499;t=55', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'}
        limits["Content-Type"] = "application/json"
        self._send(status, json.dumps(said).encode(), {**limits, **(headers or {})})

    def _content(self, content: bytes, headers: dict[str, str]) -> None:
        """The bytes of a file, or a range of them."""
        if self.fault.corrupt:
            content = content[:-20] + bytes(20)
        asked = None if self.fault.whole else re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begins = int(asked[1]) if asked else 0
        if begins >= len(content) > 0:
            raise _Refused(416, **{"Content-Range": f"bytes */{len(content)}"})
        if begins:
            headers["Content-Range"] = f"bytes {begins}-{len(content) - 1}/{len(content)}"
        self._send(206 if begins else 200, content[begins:], headers)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        body = body[: self.fault.broken_after]
        step = max(1, len(body) // 10) if self.fault.slow else max(1, len(body))
        for begins in range(0, len(body), step):
            self.hub.closed.wait(0.02 if self.fault.slow else 0)
            self.wfile.write(body[begins : begins + step])
        if self.fault.broken_after is not None:
            self._break_off()
