"""What the site has beyond docs/*.md: pages of the repository outside docs, and the reference, generated from the code.

Links between all of them are those of the repository, so that they work on GitHub, too.
"""

import re
from contextlib import redirect_stdout
from io import StringIO
from os.path import normpath, relpath
from pathlib import PurePosixPath as Posix
from typing import Any

import griffe
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import probing
from probing.kernel.citations import PAPERS, SOFTWARE
from probing.kernel.registry import REPOSITORY, published_at
from probing.main import COMMANDS, GROUPS, app, command

#: Page -> the file of the repository that it shows, of those outside docs.
OUTSIDE = {"index.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"} | {
    path: path
    for path in (file.relative_to(REPOSITORY).as_posix() for file in (REPOSITORY / "data").rglob("README.md"))
    if "/next/" not in path
}
#: File of the repository -> its page, where a page says the same in another form.
PAGE_OF = {file: page for page, file in OUTSIDE.items()} | {"CITATION.cff": "reference/cite.md"}
#: What ``load`` and ``results`` return, and what their methods return.
RETURNED = {
    "A model": ["model.Model", "answers.Answer", "answers.TokenAnswer", "answers.SpanAnswer", "answers.SentenceAnswer"],
    "Probed facts": ["probed.Probed", "probed.Comparison"],
    "Stored results": ["results.Results", "results.StoredReport"],
}
#: How a page's path begins -> how much earlier the search lists it. Long lists have every word.
BOOSTS = {"index": 4, "tutorials/": 4, "data/": 0.3, "reference/python": 0.3, "reference/tables": 0.3, "CHANGELOG": 0.3}


def on_config(config: MkDocsConfig) -> None:
    """The address of the repository, where one is named."""
    config.repo_url = published_at() or None


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages from outside docs, and the generated ones."""
    for page, path in OUTSIDE.items():
        text = (REPOSITORY / path).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    for name, text in (
        ("python", _python()),
        ("commands", _commands()),
        ("quantities", f"# Quantities and terms\n\n{_printed('terms')}"),
        ("tables", f"# Stored tables\n\n{_printed('tables')}"),
        ("cite", _cite()),
    ):
        files.append(File.generated(config, f"reference/{name}.md", content=text))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links between files of the repository into links between pages; what has no page is linked there."""
    here = page.file.src_uri
    page.meta["search"] = {"boost": next((boost for begin, boost in BOOSTS.items() if here.startswith(begin)), 1)}
    folder = Posix(OUTSIDE.get(here, f"docs/{here}")).parent

    def link(found: re.Match[str]) -> str:
        words, to, anchor = found.groups()
        target = normpath(folder / to)
        if not (REPOSITORY / target).exists():
            return found[0]
        there = PAGE_OF.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(there):
            return f"[{words}]({relpath(there, Posix(here).parent)}{anchor or ''})"
        return f"[{words}]({config.repo_url}/blob/main/{target})" if config.repo_url else words

    return re.sub(r"\[([^][]*(?:\[[^]]*\][^][]*)*)\]\(([^)#:\s]+)(#[^)\s]*)?\)", link, markdown)


def _python() -> str:
    """Everything that ``import probing`` has, and the classes behind it."""
    parts = [
        f"# Python\n\n[The Python API](../api.md) goes through it with examples.\n\n## probing\n\n{probing.__doc__}"
    ]
    parts += [f"::: probing.{name}" for name in sorted(probing.__all__, key=str.lower) if name != "__version__"]
    for title, names in RETURNED.items():
        parts += [f"## {title}", *(f"::: probing.api.{name}" for name in names)]
    return "\n\n".join([*parts, "## Errors", "::: probing.kernel.errors\n    options: {show_root_heading: false}"])


def _commands() -> str:
    """The help of every command."""
    parts = ["# Commands", _help(typer.main.get_command(app))]
    for name in COMMANDS:
        inner = GROUPS[name].listed if name in GROUPS else ()
        for words in ((name,), *((name, one) for one in inner)):
            parts += [f"{'#' * (1 + len(words))} {' '.join(words)}", _help(command(*words), *words)]
    return "\n\n".join(parts)


def _help(of: Any, *words: str) -> str:
    called = " ".join(("python -m probing", *words))
    context = of.context_class(of, info_name=called, terminal_width=78, max_content_width=78)
    return f"```text\n{of.get_help(context)}\n```"


def _printed(name: str) -> str:
    """What a command prints."""
    with redirect_stdout(StringIO()) as printed:
        command(name)([], standalone_mode=False)
    return printed.getvalue()


def _cite() -> str:
    entries = [f"**{one.role}**\n\n```bibtex\n{one.bibtex}\n```" for one in (SOFTWARE, *PAPERS)]
    said = "A citation of the software, together with those of the papers whose methods you use."
    return "\n\n".join(["# How to cite", said, *entries])


class Docstrings(griffe.Extension):
    """What griffe reads in another way than Python, and Markdown than a doctest."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Reads the exported modules in folders without ``__init__.py``, which griffe leaves out."""
        for path in ("kernel.errors", "kernel.app.page_figures", "forgetting.callback"):
            parent, folder = pkg, REPOSITORY / "probing"
            *folders, name = path.split(".")
            of: Any = {"lines_collection": pkg.lines_collection, "modules_collection": pkg.modules_collection}
            for inner in folders:
                folder /= inner
                if inner not in parent.members:
                    parent.set_member(inner, griffe.Module(inner, filepath=folder / "__init__.py", **of))
                parent = parent[inner]
            text = (file := folder / f"{name}.py").read_text(encoding="utf-8")
            pkg.lines_collection[file] = text.splitlines()
            of |= {"docstring_parser": griffe.Parser.google, "extensions": griffe.load_extensions(Docstrings)}
            read = griffe.visit(name, file, text, parent=parent, **of)
            parent.set_member(name, read)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Shows the examples at the end of a docstring as code; a line that begins with ``>>>`` is a quotation."""
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"(?ms)^>>> .*?(?=\n\s*\n|\Z)", lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value
            )
