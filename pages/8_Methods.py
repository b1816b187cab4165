"""Methods: what every word and quantity means, and where data, models and runs come from."""

import json
from collections.abc import Sequence
from html import escape as text
from pathlib import Path

import pandas as pd
import streamlit as st

from probing.choices import METHODS_TABS as TABS
from probing.choices import MethodsSelection
from probing.kernel.app import blocks, selection, texts
from probing.kernel.app.frame import View, show
from probing.kernel.app.tables import fitted
from probing.kernel.app.texts import count, escape, filled, mark_key
from probing.kernel.citations import PAPERS, SOFTWARE
from probing.kernel.columns import Columns
from probing.kernel.figures.looks import set_name
from probing.kernel.metric import Term
from probing.kernel.provenance import LOCAL
from probing.kernel.registry import read_registry
from probing.kernel.store.columns import TABLES
from probing.kernel.store.stored import fact_runs
from probing.kernel.success_report import learned
from probing.terms import METRICS, VISITORS, anchor, glossary

_FOLDER = Path(texts.__file__).parent
DIFFERENCES = """
- **Ranks count from 1.** BERTnesia's code counts from 0 and tests `rank <= k`, so its P@10 is a P@11; P@1 is the same.
- **The best checkpoint** of a head is probed, not the last epoch, and dropout is off.
- **Total knowledge** is a union over facts, with a null that the paper does not have.
- **The full head** has 24,063,546 parameters for BERT-base, by its description; the appendix states 24,459,834.
- **Tied and least-squares heads** are ours. Our tuned lens starts from the map in closed form.
- **Templates** of the shipped facts have our wording; a LAMA folder is asked with its own. Only those are LAMA's
  questions. We leave out the blank before the full stop, which changes ranks of RoBERTa.
- **Common sense (ours) and questions (ours)** are unrelated to LAMA's ConceptNet and SQuAD.
- **nesia-mini's fine-tuned models** learned 200 to 3,700 steps on parts of the data, with frozen word embeddings;
  each is that of its best step. NER is uncased here.
- **Forgotten** is also tested more strictly: paired, corrected for many tests, with a least drop.
- **Facts whose subject has the answer** (one in seven of T-REx) are marked and can be left out.
"""
OWN_LICENCES = (
    {"what": "BERTnesia Explorer", "licence": "Apache-2.0", "source": "this repository"},
    {
        "what": "templates, common-sense clozes, questions",
        "licence": "Apache-2.0",
        "source": "written for this project, data/facts",
    },
)


def draw_glossary(view: View) -> None:
    """The field of the search and the entries: the words of the pages, then the others from A to Z."""
    selection.bound("methods_search")
    query = selection.of(MethodsSelection).methods_search
    others = sorted({*glossary().values()} - {*VISITORS}, key=lambda term: term.name.lower())
    levels = {"For visitors": matching_terms(VISITORS, query), "For programmers": matching_terms(others, query)}
    if not any(levels.values()):
        st.info("An entry must have all words of the search.", icon=":material/search_off:")
        return
    st.html(_FOLDER / "glossary.css")
    for title, entries in levels.items():
        if entries:
            st.header(escape(title))
            st.html(f'<div class="glossary">{"".join(map(entry, entries))}</div>')
    st.html(_FOLDER / "glossary.js.html", unsafe_allow_javascript=True)


def matching_terms(entries: Sequence[Term], query: str) -> list[Term]:
    """The entries that have all words of a search."""
    words = query.lower().split()
    return [
        term
        for term in entries
        if all(word in f"{term.name} {term.meaning} {' '.join(term.forms)}".lower() for word in words)
    ]


def entry(term: Term) -> str:
    meaning = term.meaning[:1].upper() + term.meaning[1:]
    known = term.forms and f" <small>({text(', '.join(term.forms))})</small>"
    return f'<p id="{anchor(term.name)}"><b>{text(term.name)}</b>{known or ""} {text(meaning)}.</p>'


def draw_metrics(view: View) -> None:
    """Every quantity, with its whole definition."""
    table = pd.DataFrame(
        {
            "quantity": quantity.label,
            "definition": quantity.definition,
            "unit": quantity.unit,
            "from": "−∞" if low is None else f"{low:g}",
            "to": "∞" if high is None else f"{high:g}",
            "better": quantity.better,
            "ties": quantity.ties,
            "nothing to count": quantity.empty,
            "source": quantity.source,
            "name": quantity.name,
        }
        for quantity in METRICS.values()
        for low, high in [quantity.ends]
    )
    config = {"definition": st.column_config.TextColumn("definition", width=560)}
    blocks.table_with_download(
        table, stamp=view.stamp("quantities", ()), name="metrics", column_config=config, height=700, row_height=104
    )


def licences() -> pd.DataFrame:
    """Models and data with licence and source, from the registry."""
    registry = read_registry()
    rows: list[dict] = list(OWN_LICENCES)
    rows += [
        {
            "what": f"model {entry.name}",
            "licence": entry.licence,
            "source": entry.source,
            "revision": entry.revision[:12],
            "paper": entry.paper,
        }
        for entry in registry.models
    ]
    rows += [
        {"what": f"data {entry.title}", "licence": entry.licence, "source": entry.homepage, "paper": entry.paper}
        for entry in registry.data
    ]
    return pd.DataFrame(rows).fillna("")


def draw_data(view: View) -> None:
    """Origin and licence of models and data."""
    blocks.table_with_download(licences(), stamp=view.stamp("licences", ()), name="licences", height=600)
    st.caption(
        "LAMA's triples ship as labels. Its sentences, templates and judgements come with: python -m probing fetch lama"
    )


def draw_models(view: View) -> None:
    """Names of the stored models, whether each learned its task, and how to add another."""
    models = view.models if view.models is not None else pd.DataFrame()
    if models.empty:
        blocks.missing("No model is stored.", blocks.PROBE_COMMAND)
        return
    st.markdown(
        "**nesia-mini is a small demonstration model, not BERT**, so that every page works on any machine; it knows"
        " what its training text states. This command downloads BERT-base and asks it the same facts; the pages then"
        " begin with it."
    )
    blocks.command_line("python -m probing bert")
    scored = view.read(learned)
    table = models.drop_duplicates("model").merge(scored.drop(columns=["base", "objective"]), on="model", how="left")
    table.insert(0, "short", table["model"].map(view.label))
    columns = {
        "short": st.column_config.TextColumn("short name", pinned=True),
        "model": "full name",
        "base": "base",
        "objective": "task",
    }
    columns |= {"verdict": "verdict", "metric": "score"}
    columns |= {
        name: st.column_config.NumberColumn(name, format="%.3f") for name in ("value", "low", "high", "baseline")
    }
    columns |= {"baseline_name": "baseline is", "n": "items"}
    columns |= {"closed": st.column_config.NumberColumn("of the way to BERT-base", format="percent")}
    blocks.table_with_download(
        table,
        stamp=view.stamp("models", ()),
        name="models",
        column_order=list(columns),
        column_config=columns,
        height=500,
    )
    st.markdown(mark_key(view.verdicts, table["model"]))


def draw_runs(view: View) -> None:
    """The stored runs with their fingerprint, and every column of the stored tables."""
    runs = view.read(fact_runs) if view.database else pd.DataFrame()
    if runs.empty:
        blocks.missing("No run is stored.", blocks.PROBE_COMMAND)
    else:
        assert view.database is not None
        st.markdown(
            filled(
                "{runs} of {models}; data fingerprint `{version}`.",
                runs=count(len(runs), "run"),
                models=count(runs["model"].nunique(), "model"),
                version=view.database.data_version[:16],
            )
        )
        draw_run_table(view, runs)
    st.header("Every column of the stored tables")
    rows = [{"table": name, **column.described} for name, table in TABLES.items() for column in table.columns]
    table = pd.DataFrame(rows).replace("`", "", regex=True)
    st.dataframe(table, hide_index=True, placeholder=blocks.EMPTY, column_config=fitted(table))


def draw_run_table(view: View, runs: pd.DataFrame) -> None:
    table = runs.assign(
        left_out=[left_out_text(reasons) for reasons in runs["left_out"]],
        probe_set=runs["probe_set"].map(set_name),
        model_revision=runs["model_revision"].fillna(LOCAL),
    )
    columns = Columns(
        "run_id model head probe_set template_set n_read n_probed left_out role seed objective hub_id model_revision",
        "layers dtype device code_version created",
    )
    blocks.table_with_download(columns.of(table), stamp=view.stamp("all runs", tuple(runs["run_id"])), name="runs")
    st.caption(
        "Read: probed and left out. The id of a run is the sha256 of its configuration; equal ids mean equal bytes."
    )


def left_out_text(words: str | None) -> str:
    """ "12 object is several tokens, 3 duplicate" from the stored counts."""
    counts = json.loads(words) if isinstance(words, str) and words else {}
    return ", ".join(f"{n:,} {reason}" for reason, n in sorted(counts.items())) or "none"


def draw_citations() -> None:
    """BibTeX of this software, and of the papers behind it."""
    st.markdown("Cite this software together with the papers whose methods you use.")
    st.code(SOFTWARE.bibtex, language="latex", wrap_lines=True)
    for reference in PAPERS:
        with st.expander(escape(reference.title)):
            st.markdown(escape(reference.role))
            st.code(reference.bibtex, language="latex", wrap_lines=True)


def draw(view: View) -> None:
    with selection.open_tab("methods_tab", TABS, view.page) as tab:
        if tab == "glossary":
            draw_glossary(view)
        elif tab == "metrics":
            draw_metrics(view)
        elif tab == "data":
            draw_data(view)
        elif tab == "models":
            draw_models(view)
        elif tab == "runs":
            draw_runs(view)
        elif tab == "differences":
            st.markdown(DIFFERENCES)
        else:
            draw_citations()


show("methods", "Methods", "What does each word mean?", draw, needs_results=False)
