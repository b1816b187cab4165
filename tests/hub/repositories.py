"""Repositories of the stand-in: files by commit, branches and tags, and who may read and write."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

#: Endings of files that the hub keeps by the sha256 of their bytes (Git LFS); all others are Git's own blobs.
LARGE = (".safetensors", ".bin", ".h5", ".parquet")


@dataclass(frozen=True)
class File:
    """A file of a commit."""

    path: str
    content: bytes

    @property
    def is_large(self) -> bool:
        """Whether it is kept by Git LFS and served by another host."""
        return self.path.endswith(LARGE)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def blob(self) -> str:
        """Git's name of the blob; of a large file, of its pointer."""
        content = self.content
        if self.is_large:
            content = (
                f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(content)}\n".encode()
            )
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.is_large else self.blob


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

    @property
    def owner(self) -> str:
        return self.name.partition("/")[0]

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Adds and replaces files, moves the branch; returns the commit."""
        before = self.commits.get(self.refs.get(branch, ""), {})
        now = before | {path: File(path, content) for path, content in files.items()}
        listed = "".join(f"{path} {file.blob}\n" for path, file in sorted(now.items()))
        sha = hashlib.sha1(f"{self.kind} {self.name} {self.refs.get(branch)} {listed}".encode()).hexdigest()
        self.commits[sha], self.refs[branch] = now, sha
        return sha

    def resolve(self, revision: str) -> str | None:
        """The commit of a branch, a tag or the beginning of a commit."""
        if revision in self.refs:
            return self.refs[revision]
        found = [sha for sha in self.commits if len(revision) >= 7 and sha.startswith(revision)]
        return found[0] if len(found) == 1 else None

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the main branch."""
        return {path: file.content for path, file in self.commits.get(self.refs.get("main", ""), {}).items()}


@dataclass
class Repositories:
    """All repositories of the stand-in."""

    kept: dict[tuple[str, str], Repository] = field(default_factory=dict)

    def add(
        self, name: str, files: Mapping[str, bytes] | None = None, kind: str = "model", **options: bool
    ) -> Repository:
        """A new repository, with one commit if it has files."""
        made = self.kept[kind, name] = Repository(kind, name, **options)
        if files is not None:
            made.commit(files)
        return made

    def large_file(self, sha256: str) -> bytes | None:
        """The content of a large file of any commit."""
        for repository in self.kept.values():
            for files in repository.commits.values():
                for file in files.values():
                    if file.is_large and file.sha256 == sha256:
                        return file.content
        return None
