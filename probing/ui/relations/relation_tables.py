"""The relations page's tables: which relations a model knows better at an inner layer than at its last one, by three definitions.

The paper calls such a relation forgotten. It is a statement on one model, so what the last layer lost against the base's is next to it.
"""

from statistics import NormalDist

import pandas as pd
import streamlit as st

from probing.figures.shown_runs import set_name
from probing.reports.knowledge.forgotten_relations import forgotten, relation_forgetting
from probing.reports.wider import wider
from probing.ui.frame import facts_link, selection
from probing.ui.frame.page import View, run_of
from probing.ui.relations import against_base, overview
from probing.ui.relations.selection import RelationsSelection
from probing.ui.widgets import blocks, tables
from probing.ui.widgets.markdown import Markdown, count, escape, filled, joined, listing
from probing.ui.widgets.task_marks import marks_once

#: What "better at an inner layer" can mean, the paper's "forgotten" -> one line on it.
DEFINITIONS = {
    "caption": "Some inner layer knows more of the relation's facts than the last, by any margin (caption of the paper's Table 2).",
    "authors": "The best inner layer is above the last with p ≤ 0.05 in an unpaired t-test (the authors' code, divided by 42 as published; "
    "only this one is comparable with the paper's cells).",
    "strict": "Some inner layer is above the last by at least 2 points, with p ≤ 0.05 in a test on the same facts that allows for the "
    "number of tests (exact McNemar, Benjamini and Hochberg; ours).",
}
#: What the count of relations by a definition is.
_COUNTED = {"caption": "by any margin, without a test", "authors": "by the authors' test", "strict": "by a corrected paired test"}
_MAX_LINKS = 8
#: What a relation's row shows before its details.
_FIRST = (
    "label", "last", "base_last", "change", "majority", "swapped_last", "best_inner", "swapped_inner", "best_layer", "drop", "caption",
    "authors", "strict",
)  # fmt: skip
#: Column of the points -> the yardstick that the best inner layer beats if the column is above 0; the first one defined is shown.
_FLOORS = {"above_majority_low": "the majority answer", "above_swapped_low": "what it gives for a swapped subject"}


def draw_models(view: View) -> None:
    """The relations that every model knows better inside, at every k (Table 2 of the paper), and what it lost against its base."""
    view.contents.section("Better at an inner layer than at the last")
    chosen, definition = view.chosen, selection.of(RelationsSelection).definition
    runs = view.runs[(view.runs["head"] == chosen.head) & (view.runs["probe_set"] == chosen.probe_set)]
    selection.bound(
        st.radio,
        "A relation is better inside if",
        "definition",
        view.page,
        options=list(DEFINITIONS),
        captions=list(DEFINITIONS.values()),
    )
    table = view.report(forgotten, tuple(runs["run_id"]), selection.RANKS, tuple(DEFINITIONS))
    if table.empty:
        st.info(
            filled("{probe_set} has no relations to compare; choose T-REx in the sidebar.", probe_set=set_name(chosen.probe_set)),
            icon=":material/info:",
        )
        return
    lost = against_base.lost_points(view, runs, chosen.k)
    wide = by_model(table, definition, list(view.colours)).merge(lost[["model", "lost"]], on="model", how="left")
    models = list(wide["model"])
    key = f"relations.models.{definition}.{chosen.head}.{chosen.probe_set}"

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            selection.update(model=models[rows[0]])

    number = st.column_config.NumberColumn
    headings = {"model": st.column_config.TextColumn(pinned=True), "relations": number(help="Relations that were compared.")}
    for k in selection.RANKS:
        headings[f"P@{k}"] = number(
            f"k = {k}", format="percent", help=filled("Share of the relations that are better at an inner layer, at rank ≤ {k}.", k=k)
        )
        headings[f"n P@{k}"] = number(
            f"n, k = {k}", help=filled("Number of the relations that are better at an inner layer, at rank ≤ {k}.", k=k)
        )
    headings["lost"] = number(
        "lost against the base, points",
        format="points",
        help=filled(
            "P@{k} of the base's last layer minus that of the model's, over all facts (micro), in percentage points. Empty for a base.",
            k=chosen.k,
        ),
    )
    shown, headings = tables.written(wide.assign(model=wide["model"].map(view.label)), headings)
    st.dataframe(
        shown,
        hide_index=True,
        key=key,
        on_select=picked,
        selection_mode="single-row",
        placeholder=blocks.EMPTY,
        column_config=headings,
        column_order=[*(name for name in wide if name not in ("relations", "lost")), "lost", "relations"],
    )
    words = (
        "The paper calls these relations forgotten. It compares layers of one model: a base has some, too. What fine-tuning cost is in the "
        "column *lost against the base*. Select a row to see that model on this page. The CSV has every model, k and definition with the "
        "names. {key}"
    )
    st.caption(filled(words, key=marks_once(view, models)))
    stamp = view.stamp(
        f"relations better at an inner layer, {chosen.head}, {set_name(chosen.probe_set)}, {view.filter_words()}",
        tuple(table["run_id"].unique()),
    )
    st.download_button(
        "CSV of all definitions",
        lambda: blocks.export.csv_bytes(table.assign(names=table["names"].map(" ".join)), stamp),
        blocks.export.file_name("forgotten-relations", stamp, ".csv"),
        "text/csv",
        key="forgotten.csv",
        on_click="ignore",
        icon=":material/download:",
    )
    if chosen.model in models and view.runs["base"].fillna("").eq("").all():
        blocks.missing("No fine-tuned model is stored yet.", blocks.FINETUNE_COMMAND)


def by_model(table: pd.DataFrame, definition: str, order: list[str]) -> pd.DataFrame:
    """One row per model: ``model, relations``, and for each k the share ``P@k`` and the number ``n P@k`` of forgotten relations."""
    of_definition = table[table["definition"] == definition]
    rows = []
    for model in sorted(of_definition["model"].unique(), key=order.index):
        of_model = of_definition[of_definition["model"] == model].set_index("k")
        row = {"model": model, "relations": int(of_model["relations"].iloc[0])}
        for k in selection.RANKS:
            row |= {f"P@{k}": float(of_model["share"].get(k, float("nan"))), f"n P@{k}": int(of_model["forgotten"].get(k, 0))}
        rows.append(row)
    return pd.DataFrame(rows)


def draw_relations(view: View, points: pd.DataFrame) -> None:
    """Every relation of the chosen run: where it is known best, how sure that is, and what the last layer lost against the base's.

    Args:
        view: the page.
        points: of ``precision_by_relation``; they give the yardsticks of the last and of the best inner layer.
    """
    chosen, run, definition = view.chosen, run_of(view), selection.of(RelationsSelection).definition
    table = view.report(relation_forgetting, (run["run_id"],), chosen.k)
    if table.empty:
        return
    base = overview.base_run(view)
    table = against_base.with_base(view, _with_yardsticks(table, points), base)
    st.markdown(filled("### {model}, relation by relation", model=view.called(chosen.model)))
    lost = table[table[definition].astype(bool)].sort_values("drop", ascending=False)
    if lost.empty:
        st.markdown(
            filled(
                "Under “{definition}” no relation is **better at an inner layer than at its last**, at rank ≤ {k}.",
                definition=definition,
                k=chosen.k,
            )
        )
    else:
        said = filled(
            "Under “{definition}” **{relations}** of {n} are **better at an inner layer than at its last** ({counts}): {names}.",
            definition=definition,
            relations=count(len(lost), "relation"),
            n=len(table),
            counts="; ".join(f"{table[one].sum()} {words}" for one, words in _COUNTED.items()),
            names=listing(list(lost["label"]), 6),
        )
        st.markdown(joined(" ", [said, _above_floor(lost, wider(points))]))
        with st.container(horizontal=True):
            for row in lost.head(_MAX_LINKS).itertuples():
                facts_link.link(view, escape(str(row.label)), relation=row.relation, at_layer=int(row.best_layer), at_rank=chosen.k)
    runs = pd.DataFrame([run, base]) if base is not None else pd.DataFrame([run])
    of_base = against_base.sentence(view, table, runs, base)
    if of_base:
        st.markdown(of_base)
    doubling = int(table["doubling"].astype(bool).sum())
    st.caption(
        filled(
            "{relations} doubled: P@1 at the last layer is at least twice the best inner layer's.", relations=count(doubling, "relation")
        )
    )
    key = f"relations.table.{run['run_id']}.{chosen.k}"
    shown = table.drop(columns=["run_id", "model", "head", "probe_set"]).sort_values("drop", ascending=False, ignore_index=True)

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            row = shown.iloc[rows[0]]
            facts_link.go(view, relation=str(row["relation"]), at_layer=int(row["best_layer"]), at_rank=chosen.k)

    number = st.column_config.NumberColumn
    run_words = f"{view.label(chosen.model)} {chosen.head}, {set_name(chosen.probe_set)}, {view.filter_words()}"
    st.caption(
        "Select a row to open the facts that its best inner layer knows. A click on a column's head sorts; details follow to the right."
    )
    blocks.table_with_download(
        shown,
        stamp=view.stamp(f"relations better at an inner layer, rank ≤ {chosen.k}, {run_words}", (run["run_id"],)),
        name="relation-forgetting",
        key=key,
        on_select=picked,
        selection_mode="single-row",
        column_order=[name for name in (*_FIRST, *(name for name in shown if name not in _FIRST)) if name in shown],
        column_config={
            "last": number(format="percent", help="Known at the last layer."),
            "base_last": number("base, last", format="percent", help="Known at the base's last layer."),
            "change": number("against base", format="points", help="The last layer minus the base's last layer, in points."),
            "majority": number(format="percent", help="What always giving the relation's commonest answer gets right."),
            "swapped_last": number("swapped, last", format="percent", help="Known at the last layer when asked about a swapped subject."),
            "best_inner": number("inner", format="percent", help="Known at the best inner layer."),
            "swapped_inner": number(
                "swapped, inner", format="percent", help="Known at the best inner layer when asked about a swapped subject."
            ),
            "best_layer": number("at layer", help="The best inner layer."),
            "drop": number(format="points"),
            **{name: number(name.replace("_", " "), format="%.2g") for name in ("p_authors", "p_strict")},
            "relation": "id",
            "label": st.column_config.TextColumn("relation", pinned=True),
            "family_size": number("tests", help="Size of the family that the strict p-values are corrected for."),
        },
    )


def _with_yardsticks(table: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """The relations with the majority answer, and with the swapped subject at the last and at the best inner layer."""
    swapped = points[["relation", "layer", "swapped"]]
    last = points.loc[points["layer"] == points["layer"].max(), ["relation", "majority", "swapped"]]
    inner = swapped.rename(columns={"layer": "best_layer", "swapped": "swapped_inner"})
    table = table.assign(best_layer=pd.to_numeric(table["best_layer"]))
    table = table.merge(last.rename(columns={"swapped": "swapped_last"}), on="relation", how="left")
    return table.merge(inner.astype({"best_layer": "float64"}), on=["relation", "best_layer"], how="left")


def _above_floor(lost: pd.DataFrame, points: pd.DataFrame) -> Markdown:
    """In how many of these relations the best inner layer knew more than a guess; empty if no yardstick is defined.

    The layer is chosen for its value, so the half width of its interval is widened as Bonferroni asks for that many inner layers.
    """
    tests = int(points["layer"].max()) - 1
    factor = NormalDist().inv_cdf(1 - 0.025 / tests) / NormalDist().inv_cdf(1 - 0.025)
    at_best = lost[["relation", "label", "best_layer"]].merge(
        points.astype({"layer": "float64"}), left_on=["relation", "best_layer"], right_on=["relation", "layer"], suffixes=("", "_there")
    )
    for column, floor in _FLOORS.items():
        value = at_best[column.removesuffix("_low")]
        low = (value - (value - at_best[column]) * factor).dropna()
        if low.empty:
            continue
        of = "them" if len(low) == len(lost) else f"the {len(low)} that have one"
        above = int((low > 0).sum())
        return filled(
            "In **{above}** of {of}, the best inner layer is above {floor} by its 95 % interval, corrected for the choice among {layers}.",
            above="none" if not above else "all" if above == len(low) > 1 else str(above),
            of=of,
            floor=floor,
            layers=count(tests, "layer"),
        )
    return Markdown("")
