"""Words of strangers on a page are escaped by type, columns fit their words, downloads state their origin."""

import ast
import io
import re
from functools import cache
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest
import streamlit as st
from markdown_it import MarkdownIt

from probing.kernel.app.figure_cache import Stamp, csv_bytes, html_bytes
from probing.kernel.app.save import plot
from probing.kernel.app.tables import placed, telling, written
from probing.kernel.app.texts import Markdown, code, escape, explained, filled, joined, mark_key, with_minus
from probing.kernel.figures.looks import MARKS
from probing.terms import glossary, meanings

ROOT = Path(__file__).resolve().parents[2]
#: The modules that pages are made of.
PARTS = sorted([*(ROOT / "probing").rglob("page_*.py"), *(ROOT / "probing" / "kernel" / "app").glob("*.py")])
ATTACKS = [
    "![x](https://evil.example/a.png)",
    "<img src=x>",
    "[x](https://evil.example/b)",
    "**bold** _it_ ~~no~~",
    "# title",
    ":red[x] $x$",
    "`code`",
    "a`b https://evil.example/c``d",
    "www.evil.example",
    "me@evil.example",
    "back\\slash \\* and |pipe|",
    "two\n\nlines",
    "<https://evil.example>",
]


def shown(markdown: str) -> tuple[str, set[str]]:
    """The text that a reader of CommonMark sees, and which kinds of markup are in it."""
    parts = [part for block in MarkdownIt().parse(markdown) for part in (block.children or [block])]
    return "".join(part.content for part in parts), {
        part.type for part in parts if not part.type.startswith("paragraph")
    }


@pytest.mark.parametrize("text", ATTACKS)
def test_a_filled_in_value_is_shown_unchanged_and_adds_no_markup(text):
    seen, kinds = shown(filled("A {text} B", text=text))
    assert seen == f"A {' '.join(text.split())} B"
    assert kinds <= {"text", "text_special", "code_inline"}
    assert escape(text) == filled("{text}", text=text)


@pytest.mark.parametrize("text", [*map(escape, ATTACKS), "`base` and [a control](x)"])
def test_the_first_of_each_term_links_to_its_meaning_and_the_text_stays(text):
    whole = Markdown(f"{text}: P@1, controls, 95\u00a0% intervals, P@1 and P@10")
    words = explained(whole)
    links = [part.attrs for block in MarkdownIt().parse(words) for part in block.children or [] if part.attrs]
    expected = [f"{name}: {glossary()[name].meaning}" for name in ("P@1", "control", "95 % interval", "P@10")]
    assert [str(one["title"]) for one in links if "title" in one] == expected and shown(words)[0] == shown(whole)[0]


@pytest.mark.parametrize(
    ("widths", "fitting", "beyond"),
    [
        ((400, 400), [400, 400], ""),
        ((400, 400, 150), [366, 366, 150], ""),
        ((400, 400, 150, 150, 150), [400, 400], "cde"),
    ],
)
def test_columns_are_narrowed_a_little_to_fit_the_page_else_those_beyond_it_are_named(widths, fitting, beyond):
    columns = {name: {"label": name, "width": width} for name, width in zip("abcde", widths, strict=False)}
    assert placed(columns, columns) == list(beyond)
    assert [one["width"] for one in columns.values()][: len(fitting)] == fitting


def test_a_mark_behind_a_model_is_explained_in_menus_and_at_its_line():
    for verdict, mark in MARKS.items():
        words = mark_key({"m": verdict}, ["m", "base"])
        assert words.count("\n") == 0 and mark.strip(" ()") in words
        assert mark == " (control)" or meanings(f"m{mark}")[0].split(": ")[1][:20] in words


def test_an_address_is_code_because_a_browser_would_make_it_a_link():
    for word in ("https://evil.example/a`b", "www.evil.example", "me@evil.example"):
        assert "code_inline" in shown(escape(f"see {word} now"))[1]
    assert shown(code("``"))[0] == "``"


def test_a_negative_number_has_a_minus_sign_and_names_keep_their_hyphens():
    assert (
        with_minus("QA-SQuAD-1: -0.4 (-0.9 to 0.1), 2020-21, 1e-05") == "QA-SQuAD-1: −0.4 (−0.9 to 0.1), 2020-21, 1e-05"
    )


def test_numbers_and_our_own_markup_are_left_as_they_are():
    assert (
        filled("{n:,} at {share:.1f} %, {words}", n=-1234, share=-0.25, words=Markdown("**so**"))
        == "−1,234 at −0.2\u00a0%, **so**"
    )
    assert filled("**a**") + "*b*" == r"**a**\*b\*" and "*b*" + filled("**a**") == r"\*b\***a**"
    assert joined(", ", ["*a*", filled("*{b}*", b="b")]) == r"\*a\*, *b*"


#: Calls whose arguments a browser reads as Markdown: name -> which of the positional ones; by name also those of
#: ``NAMED``.
PLACES = {
    **dict.fromkeys(
        (
            "markdown",
            "caption",
            "info",
            "warning",
            "error",
            "success",
            "title",
            "header",
            "subheader",
            "badge",
            "spinner",
            "button",
            "expander",
            "popover",
            "toggle",
            "checkbox",
            "selectbox",
            "multiselect",
            "segmented_control",
            "pills",
            "text_input",
            "file_uploader",
            "download_button",
            "select_slider",
            "write",
            "toast",
        ),
        0,
    ),
    "progress": None,
    "page_link": None,
}
#: The same for our own functions, which pass their arguments on.
OURS = {"bound": 1, "link": 1, "_several": 0, "_link": 3, "joined": 0, "download": 0, "_worded": 0}
#: Those that fill a template with what they get by name, and those of them that escape it if they get nothing.
FILLING = ("filled", "note", "caption", "sentence", "tab_sentence", "missing")
OURS |= dict.fromkeys(FILLING, 0)
ESCAPING = FILLING[3:]
NAMED = ("help", "label", "body", "text")
SAFE_CALLS = {"filled", "escape", "joined", "code", "Markdown"}


@cache
def returns_markdown() -> frozenset[str]:
    """Functions of the pages that are annotated to return Markdown."""
    found = set()
    for path in PARTS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.FunctionDef)
                and isinstance(node.returns, ast.Name)
                and node.returns.id == "Markdown"
            ):
                found.add(node.name)
    return frozenset(found)


def is_safe(node: ast.AST, scope: list[ast.AST], safe_calls: set[str]) -> bool:
    """Whether an expression is a trusted literal, or the result of an escaping function."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.IfExp):
        return is_safe(node.body, scope, safe_calls) and is_safe(node.orelse, scope, safe_calls)
    if isinstance(node, ast.BinOp):
        return is_safe(node.left, scope, safe_calls) and is_safe(node.right, scope, safe_calls)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and node.value.id.isupper()
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in safe_calls
    if isinstance(node, ast.Attribute):
        # A constant of another module.
        return isinstance(node.value, ast.Name) and node.attr.isupper()
    if not isinstance(node, ast.Name):
        return False
    if node.id.isupper() or node.id.lstrip("_").isupper():
        return True
    function = next(one for one in reversed(scope) if isinstance(one, ast.FunctionDef | ast.Module))
    if isinstance(function, ast.FunctionDef):
        for argument in (*function.args.args, *function.args.kwonlyargs):
            if argument.arg == node.id:
                return (
                    isinstance(argument.annotation, ast.Name) and argument.annotation.id == "Markdown"
                ) or function.name in OURS
    given = [
        one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
        if one.value is not None and isinstance(target, ast.Name) and target.id == node.id
    ]
    loops = [one for one in ast.walk(function) if isinstance(one, ast.For)]
    looped = [
        one.iter for one in loops if node.id in {name.id for name in ast.walk(one.target) if isinstance(name, ast.Name)}
    ]
    # A loop over literals, or over a constant of the module.
    literal = all(not isinstance(part, ast.JoinedStr) for one in looped for part in ast.walk(one)) and all(
        name.id in ("zip", "st", "range") or name.id.isupper()
        for one in looped
        for name in ast.walk(one)
        if isinstance(name, ast.Name)
    )
    return bool(given or looped) and literal and all(is_safe(one, [function], safe_calls) for one in given)


def unsafe_calls(path: Path) -> list[str]:
    """Places where a file shows Markdown that is neither a literal nor escaped by type."""
    found, safe_calls = [], SAFE_CALLS | returns_markdown()

    def visit(node: ast.AST, scope: list[ast.AST]) -> None:
        if isinstance(node, ast.Call):
            ours = isinstance(node.func, ast.Name)
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            place = OURS[name] if name in OURS else None if ours else PLACES.get(name)
            shown = [node.args[place]] if place is not None and len(node.args) > place else []
            if name in ESCAPING and not node.keywords:
                shown = []
            named = (not ours and (name in PLACES or name in OURS or name.endswith("Column"))) or name in (
                "bound",
                "number",
            )
            named = named and (name not in FILLING or ast.unparse(node.func) == "st.caption")
            shown += [one.value for one in node.keywords if named and one.arg in NAMED]
            found.extend(
                f"{path.name}:{one.lineno} {name}({ast.unparse(one)})"
                for one in shown
                if not is_safe(one, scope, safe_calls)
            )
        for child in ast.iter_child_nodes(node):
            visit(child, [*scope, node])

    visit(ast.parse(path.read_text(encoding="utf-8")), [])
    return found


def test_a_page_shows_as_markdown_only_literals_and_what_escapes_by_type():
    pages = [*PARTS, *(ROOT / "pages").rglob("*.py"), ROOT / "app.py"]
    assert [call for path in pages for call in unsafe_calls(path)] == []


def test_columns_that_repeat_the_selection_are_left_out_until_they_differ():
    table = pd.DataFrame(
        {"run_id": ["x", "y"], "model": ["a", "b"], "head": ["tied", "tied"], "k": [1, 10], "value": [0.0, 0.0]}
    )
    assert telling(table) == ["model", "k", "value"]
    assert telling(table.assign(head=["tied", "logit_lens"])) == ["model", "head", "k", "value"]


def test_numbers_have_a_minus_sign_and_separated_thousands_in_the_format_of_their_column():
    table = pd.DataFrame(
        {"n": [4423, 7], "gain": [-1.14, -0.01], "p": [0.00012, 0.5], "layer": [3.0, None], "loss": [-0.25, 1234.0]}
    )
    table = table.assign(way="x")
    number = st.column_config.NumberColumn
    config = {
        "n": number(format="%d facts"),
        "gain": number(format="%+.1f"),
        "p": number("p", format="%.2g"),
        "way": "way",
    }
    shown, columns = written(table, config)
    cells = re.findall("<td[^>]*>([^<]*)<", shown.to_html())
    assert cells == ["4,423 facts", "−1.1", "0.00012", "3", "−0.25", "x", "7 facts", "+0.0", "0.5", "–", "1,234", "x"]
    assert shown.data.equals(table), "a click on a heading sorts by the numbers"
    assert columns["p"]["label"] == "p" and columns["p"]["type_config"]["format"] is None, (
        "Streamlit would write its own format instead"
    )


STAMP = Stamp("P@1, macro, all facts", "1a2b3c4d5e6f7a8b", ("aaaaaaaabbbb", "ccccccccdddd"))


def test_a_csv_carries_filters_and_fingerprint_in_every_row():
    table = pd.read_csv(io.BytesIO(csv_bytes(pd.DataFrame({"layer": [0, 1], "value": [0.1, 0.25]}), STAMP)))
    assert list(table["value"]) == [0.1, 0.25]
    assert set(table["filters"]) == {"P@1, macro, all facts"}
    assert set(table["data"]) == {"1a2b3c4d5e6f7a8b aaaaaaaabbbb ccccccccdddd"}


def test_a_csv_keeps_a_spreadsheet_from_running_a_token():
    written = csv_bytes(
        pd.DataFrame({"token": ["=1+1", "@x", "-", "fine"], "value": [-1.5, 1.0, 2.0, 3.0]}), STAMP
    ).decode()
    table = pd.read_csv(io.StringIO(written))
    assert list(table["token"]) == ["'=1+1", "'@x", "'-", "fine"]
    assert table["value"][0] == -1.5


def test_an_html_file_is_self_contained_and_its_comment_cannot_be_closed_early():
    page = html_bytes(go.Figure(), Stamp("text '--><script>alert(1)</script>'", "1a2b", ("run",))).decode()
    assert "<script>alert(1)" not in page
    assert "cdn.plot.ly" not in page.split("plotly.js v")[0]
    assert "1a2b run" in page[:2000]


def test_a_call_leaves_out_what_is_not_given_and_says_which_filters_it_lacks():
    drawn = plot("edges", "summary", {"model": ["a", "b"], "task": (), "unseen": False}, published=False)
    assert drawn.endswith(".report('edges', 'summary', model=['a', 'b']).figure(published=False)")
    assert plot("facts", "precision", {}, filtered=True) == ""
