"""Nothing that a probe or a head only failed to read is called erased, gone, removed or destroyed: such words need another test.

Read are the strings of pages, reports, figures and definitions, and the documents on facts and properties. What the sentences must not say
of knowledge they may say of files, so modules and documents about files are not read.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from probing.core.metrics import METRICS
from probing.reports.knowledge.transitions import COLUMNS
from tests.pages.conftest import words
from tests.pages.every_tab import whole
from tests.pages.planted_family import charts

ROOT = Path(__file__).parents[2]
#: Code whose words are about what probes and heads read.
MODULES = (
    "app.py",
    "pages",
    "probing/ui",
    "probing/reports",
    "probing/figures",
    "probing/core/knowledge",
    "probing/core/sentences",
    "probing/core/changes",
    "probing/core/edges",
    "probing/core/metric.py",
    "probing/core/metrics.py",
    "data/making",
)
DOCUMENTS = (
    "README.md", "docs/api.md", "docs/changes.md", "docs/edges.md", "docs/facts.md", "docs/finetuning.md",
    "docs/heads.md", "docs/notebook.ipynb", "docs/package.md",
    "docs/pages.md", "docs/sentences.md", "data/models/nesia-mini/README.md",
    "data/published/README.md", "data/published/bertnesia.toml", "data/published/edge-probing.toml", "data/published/sentence-probing.toml",
)  # fmt: skip
#: A word by itself; ``where_gone``, ``where-gone`` and ``shown.gone`` are names of code and columns.
_CLAIM = re.compile(r"(?<![\w.\-])(?:erase[ds]?|erasing|gone|removed?s?|destroy(?:ed|s)?)(?![\w-])", re.IGNORECASE)
#: What may be said: a denial, a quotation of the paper's question, and the old name of a fate.
ALLOWED = (
    r"does not mean (?:that it is |that it was )?(?:removed|erased|gone)",
    r"(?:may|need) not be (?:removed|erased|gone)",
    r"removed or no longer linear(?:ly separable)?",
    r"is a property removed by fine-tuning, or",
    r'Called \\?"erased\\?" until version 0\.7',
)
#: (file, string) that is no sentence about knowledge: the name of a fate in older links.
NAMES_OF_LINKS = {("probing/ui/facts/selection.py", "erased")}
_ALLOWED = re.compile("|".join(ALLOWED), re.IGNORECASE)


def claims(text: str) -> list[str]:
    """The sentences of a text that claim more than that something was not read."""
    said = re.sub(r"(`+).*?\1", " ", _ALLOWED.sub(" ", re.sub(r"\s+", " ", text)))
    return [one for one in re.split(r"(?<=[.!?:;|])\s", said) if _CLAIM.search(one)]


def strings(path: Path) -> Iterator[str]:
    """The strings of a module, each f-string as one, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else " … " for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.value


def modules() -> list[Path]:
    return [path for name in MODULES for path in ([ROOT / name] if name.endswith(".py") else sorted((ROOT / name).rglob("*.py")))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The fact is erased.", True),
        ("11 other layer and 16 gone", True),
        ("Fine-tuning removed the property", True),
        ("It destroys word order", True),
        ("lost, and not read at any layer", False),
        ("Not found does not mean removed: another", False),
        ("where-gone", False),
        ("removed or no longer linear", False),
        ("It may not be removed. It is gone.", True),
    ],
)
def test_a_claim_is_distinguished_from_a_denial(text, found):
    assert bool(claims(text)) is found


def test_the_strings_of_a_module_are_read_without_its_docstrings(tmp_path):
    module = tmp_path / "one.py"
    module.write_text('"""Files are removed."""\nx = 3\nsaid = f"{x} facts are " "erased"\nother = ["gone"]\n', encoding="utf-8")
    assert [text for text in strings(module) if claims(text)] == [" …  facts are erased", "gone"]


def test_no_string_of_a_page_report_or_figure_claims_that_knowledge_is_erased():
    read = [(path.relative_to(ROOT).as_posix(), text) for path in modules() for text in strings(path)]
    assert len(read) > 5000
    found = [(name, sentence) for name, text in read if (name, text) not in NAMES_OF_LINKS for sentence in claims(text)]
    assert found == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_document_claims_that_knowledge_is_erased(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith(".ipynb"):
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert claims(text) == []


def test_no_definition_and_no_column_of_a_report_claims_it():
    assert [name for name, metric in METRICS.items() if claims(f"{metric.label}. {metric.definition}")] == []
    assert [name for name in (*METRICS, *COLUMNS) if claims(name)] == []


@pytest.mark.parametrize(
    ("page", "query"), [("compare", {}), ("facts", {"model": "nesia-mini-qa-squad-1", "versus": "nesia-mini", "part": "not_read"})]
)
def test_a_page_with_facts_of_every_fate_does_not_say_it(look, page, query):
    app = whole(look, page, **query)
    assert not app.exception and "not read at any layer" in words(app)
    shown = [words(app), json.dumps(charts(app)), *(str(option) for menu in app.selectbox for option in menu.options)]
    assert [sentence for text in shown for sentence in claims(text)] == []
