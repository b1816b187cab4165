"""A store whose every text is an attack: no page shows any of it as markup, as a link or as an image."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt

from probing.kernel.fact import Fact
from probing.kernel.store.parquet import write_table
from tests import planted_store as planted
from tests.edges_planted import plant_edge_runs
from tests.pages.every_tab import links_to_tabs
from tests.planted_store import PlantedRun, count, fact_rows, prediction_rows, run_row
from tests.tiny_models import save

pytestmark = pytest.mark.usefixtures("unfolded", "popped")

#: What a browser's Markdown would make of it: an image, HTML, two links, a colour, an open code span.
ATTACK = (
    '![sly](https://evil.example/a.png) <img src="https://evil.example/b"> [x](https://evil.example/c) www.evil.example'
    " :red[x] `"
)
#: Message and field of a proto -> texts that are shown unchanged: cells, menus, code, values of widgets, and what is
#: not shown.
PLAIN = {
    # The component of the layers' words sets them as text.
    ("BidiComponent", "json"),
    ("Code", "code_text"),
    ("PlotlyChart", "spec"),
    ("PlotlyChart", "alt"),
    ("Selectbox", "options"),
    ("MultiSelect", "options"),
    ("Selectbox", "raw_value"),
    ("Selectbox", "set_value"),
    ("MultiSelect", "raw_values"),
    ("PageLink", "query_string"),
    ("SelectSlider", "options"),
    ("TextInput", "default"),
    ("TextInput", "value"),
    ("TextArea", "default"),
    ("TextArea", "value"),
}


def named(field: str) -> str:
    return f"{field} {ATTACK}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A family of a base, a fine-tuned model and a control whose every text field is an attack; and the names in it."""
    folder, patch = tmp_path_factory.mktemp("hostile"), pytest.MonkeyPatch()
    words = [named("token"), named("answer")]
    patch.setattr(planted, "TOKENS", (*planted.TOKENS, *words))
    patch.setattr(planted, "TOKENIZER", named("tokenizer"))
    try:
        for probe_set in ("trex", named("set")):
            facts = tuple(
                Fact(
                    probe_set,
                    named(f"relation {n % 3}"),
                    f"{named('subject')} {n}",
                    words[1],
                    named("[X] template [Y]"),
                    f"{named('prompt')} {n} [MASK]",
                    pred=named("pred"),
                )
                for n in range(9)
            )
            _plant(folder, probe_set, facts, words)
    finally:
        patch.undo()
    return folder, {"base": named("base"), "tuned": named("tuned"), "probe_set": named("set")}


def _plant(folder: Path, probe_set: str, facts: tuple[Fact, ...], words: list[str]) -> None:
    first = len(planted.TOKENS) - 2
    made = (("head_recipe", json.dumps({named("recipe"): named("value")})), (named("setting"), "1"))
    runs = [
        PlantedRun(named("base"), probe_set=probe_set, facts=facts, objective=named("objective"), top=lambda *_: first),
        PlantedRun(
            named("tuned"),
            base=named("base"),
            probe_set=probe_set,
            facts=facts,
            objective=named("objective"),
            made=made,
            rank=lambda number, layer: 1 + (number * 7 + layer * 5) % 40,
        ),
        PlantedRun(named("other"), base=named("base"), probe_set=probe_set, facts=facts, objective="control"),
        PlantedRun(named("base"), head=named("head"), probe_set=probe_set, facts=facts),
    ]
    for number, run in enumerate(runs):
        row = run_row(run) | {name: named(name) for name in ("model_revision", "device", "code_version", "created")}
        row |= {
            "dtype": named(f"dtype {number}"),
            "left_out": json.dumps({named("reason"): 1}),
            "template_set": "default" if number < 3 else named("templates"),
        }
        write_table("predictions", prediction_rows(run), folder / run.run_id / f"predictions-{run.run_id}.parquet")
        write_table("runs", [row], folder / run.run_id / f"runs-{run.run_id}.parquet")
    part = folder / ("lama" if probe_set == "trex" else "own")
    rows = [row | {"template_set": named("templates")} for row in fact_rows(facts)]
    write_table("facts", rows, part / "facts-hostile.parquet")
    labels = [
        {
            "relation": named(f"relation {n}"),
            "probe_set": probe_set,
            "label": named(f"label {n}"),
            "cardinality": named("kind"),
        }
        for n in range(3)
    ]
    write_table("relations", labels, part / "relations.parquet")
    if probe_set == "trex":
        write_table("vocabulary", planted.token_rows(planted.TOKENS), folder / "vocabulary-hostile.parquet")
        keys = [f"{fact.relation}\t{fact.subject}\t{fact.object}" for fact in facts]
        exposure = {"model": [named("base")] * len(keys), "fact_key": keys, "exposure": [named("exposure")] * len(keys)}
        write_table("exposure", exposure, folder / "exposure-hostile.parquet")
        task = {name: named(name) for name in ("objective", "metric", "chance_name")} | {
            "value": 0.5,
            "chance": 0.1,
            "n": 9,
        }
        write_table(
            "tasks", [{"model": named("tuned"), "base": named("base")} | task], folder / "tasks-hostile.parquet"
        )
        drift = [
            {"model": named("tuned"), "base": named("base"), "layer": n, "drift": 0.1, "parameters": 5}
            for n in range(4)
        ]
        write_table("weight_drift", drift, folder / "weight_drift-hostile.parquet")
    for run in runs:
        count(folder, run)


def texts(message) -> list[tuple[str, str]]:
    """Every text in a proto that a browser reads as Markdown, with its place."""
    found = []
    for field, value in message.ListFields():
        where = (type(message).__name__, field.name)
        if where in PLAIN or field.name.endswith("id"):
            continue
        if where == ("Dataframe", "columns"):
            # Headings are plain; the help on one is Markdown.
            found += [("Dataframe.help", one["help"]) for one in json.loads(value).values() if one.get("help")]
            continue
        if where == ("Html", "body"):
            # Addresses of our own links are encoded: nothing of another's makes a scheme, a space or a bracket.
            found.append(("Html.body", re.sub(r'href="[\w.#?&;=%+-]*"', "", value)))
            continue
        for one in value if field.is_repeated and not hasattr(value, "items") else [value]:
            if isinstance(one, str):
                found.append((".".join(where), one))
            elif hasattr(one, "ListFields"):
                found += texts(one)
    return found


def walk(block) -> list[tuple[str, str]]:
    found = texts(block.proto) if getattr(block, "proto", None) is not None else []
    for child in getattr(block, "children", {}).values():
        found += walk(child)
    return found


@pytest.fixture
def texts_of(visit, monkeypatch):
    """Every text of a page on a store, of all of its tabs."""

    def opened(page: str, query: dict, snapshot: Path) -> list[tuple[str, str]]:
        found = []
        # What a link names in vain is said above the tabs.
        for tab in links_to_tabs(page)[: 1 if named("gone") in query.values() else None]:
            app = visit(page, query=query | tab, run=False)
            monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
            app.run()
            assert not app.exception
            found += [one for part in app._tree.children.values() for one in walk(part)]
        return found

    return opened


#: Making a parser takes longer than most texts.
COMMONMARK = MarkdownIt("commonmark").enable("table")


@cache
def markup_of(text: str) -> tuple[str, ...]:
    """What of the attacks a browser would act on."""
    acts = []
    for block in COMMONMARK.parse(text):
        for part in block.children or [block]:
            if part.type == "link_open" and not urlsplit(str(part.attrs["href"])).netloc:
                # A link of ours to another page, whose fields are encoded.
                continue
            if (
                part.type in ("image", "html_inline", "html_block", "link_open")
                and "evil" in f"{part.content}{part.attrs}"
            ):
                acts.append(f"{part.type} {part.content}{part.attrs}")
            # The browser's dialect makes links of bare addresses, unless they are code.
            elif (
                part.type in ("text", "text_special", "inline") and not part.children and "evil.example" in part.content
            ):
                acts.append(f"bare address in {part.content}")
    return tuple(acts)


#: Page, what its link has, and on a page of one probe set that set: all names are attacks, those of T-REx but its own.
VISITS = [
    ("home", {}, ""),
    ("layers", {"model": "tuned", "against_base": "1"}, "set"),
    ("compare", {"tuned": "tuned"}, "set"),
    ("facts", {"model": "tuned", "part": "lost", "versus": "base"}, "trex"),
    ("facts", {"model": "base", "text": ATTACK}, "set"),
    ("papers", {}, ""),
    ("methods", {}, ""),
    # What is not stored is named.
    ("home", {"models": "gone", "heads": "gone", "probe_sets": "gone"}, ""),
    ("layers", {"model": "base", "relations": "gone"}, "trex"),
    ("compare", {"tuned": "gone", "versus_model": "gone"}, "set"),
    ("facts", {"model": "tuned", "head": "gone", "versus": "gone", "part": "lost"}, "set"),
    ("papers", {"papers_subject": "gone", "papers_tab": "figures", "figure": "2"}, ""),
]


@pytest.mark.parametrize(
    ("page", "query", "probe_set"), VISITS, ids=[f"{page}-{n}" for n, (page, *_) in enumerate(VISITS)]
)
def test_no_page_shows_a_strangers_words_as_markup(texts_of, hostile, page, query, probe_set):
    query = {name: named(value) if value in ("base", "tuned", "gone") else value for name, value in query.items()}
    if probe_set:
        query["probe_set"] = "trex" if probe_set == "trex" else named("set")
    shown = texts_of(page, query, hostile[0])
    assert page in ("layers", "methods") or any("evil" in text for _, text in shown)
    assert {(where, text, acts) for where, text in shown if (acts := markup_of(text))} == set()


@pytest.fixture(scope="module")
def hostile_edges(tmp_path_factory) -> Path:
    """Edge probing in which models, titles, labels, sentences and documents are attacks."""
    fields = {
        "edge_runs": ("model", "base", "objective"),
        "edge_tasks": ("title", "source", "licence"),
        "edge_labels": ("name",),
        "edge_sentences": ("text", "document"),
    }

    def attacked(table: str, rows: list[dict]) -> list[dict]:
        return [
            row | {name: named(f"{row[name]} {name}") for name in fields.get(table, ()) if row[name]} for row in rows
        ]

    return plant_edge_runs(tmp_path_factory.mktemp("hostile-edges"), change=attacked)


@pytest.mark.parametrize(
    "query",
    [
        dict.fromkeys(("edge_models", "edge_model", "trace_label", "text_hash"), ATTACK) | {"labels_of": "srl"},
        {"layerwise": "compression", "edge_tasks": "srl"},
    ],
    ids=["attacks", "filters"],
)
def test_no_page_of_edge_probing_shows_a_strangers_words_as_markup(texts_of, hostile_edges, query):
    shown = texts_of("grammar", query, hostile_edges)
    assert any("evil" in text for _, text in shown)
    assert {(where, text, acts) for where, text in shown if (acts := markup_of(text))} == set()


def test_the_check_of_this_file_sees_every_attack():
    assert len(markup_of(ATTACK)) >= 4
    assert markup_of("see https://evil.example") and not markup_of("see `https://evil.example`")


@pytest.mark.parametrize(
    "query",
    [
        {"prompt": f"{ATTACK} is [MASK].", "watch": "paris, " + ATTACK},
        {"prompt": "Paris is [MASK].", "perturbation": "misprimed", "prime": ATTACK},
        {"prompt": ATTACK, "live_head": ATTACK},
        {"live_model": ATTACK, "live_models": ATTACK, "prompt": "Paris is [MASK]."},
    ],
)
def test_the_live_page_shows_the_texts_of_a_link_unchanged(visit, tmp_path, query):
    save("bert", tmp_path / "cache" / "models" / "tiny")
    app = visit("ask", "empty", {"live_model": "tiny", "live_head": "logit_lens"} | query)
    assert not app.exception
    shown = [one for part in app._tree.children.values() for one in walk(part)]
    assert {(where, text, acts) for where, text in shown if (acts := markup_of(text))} == set()
