"""The home page's numbers and its parts."""

import pandas as pd
import streamlit as st

from probing.core.facts.fact import MASK
from probing.figures.knowledge.total_bars import total_bars
from probing.reports.knowledge.total import total
from probing.store.knowledge.one_fact import notable_facts
from probing.store.run_queries import runs as all_runs
from probing.ui.facts.running_example import ROCKY, rocky
from probing.ui.frame import navigation, selection
from probing.ui.frame.page import View
from probing.ui.frame.run_choice import set_name
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, count, filled

_COLUMNS = [
    "model",
    "head",
    "probe_set",
    "run_id",
    "last",
    "last_low",
    "last_high",
    "total",
    "total_low",
    "total_high",
    "intermediate",
    "n",
    "seeds",
    "seed_union",
]


def totals(view: View) -> pd.DataFrame:
    """Last-layer and total knowledge of the chosen runs, shares in [0, 1], one row a run."""
    if view.overlaid.empty or view.database is None:
        return pd.DataFrame(columns=_COLUMNS)
    table = view.report(total, tuple(view.overlaid["run_id"]), (view.chosen.k,), (view.chosen.average,))
    return table.rename(columns={"last_layer": "last", "intermediate_share": "intermediate"})[_COLUMNS]


def controls(view: View) -> None:
    """Rank and average of the bars."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        selection.bound(
            st.segmented_control, "A fact counts as known with rank", "k", view.page, options=list(selection.RANKS), required=True,
            format_func=lambda k: "1" if k == 1 else f"≤ {k}",
        )  # fmt: skip
        selection.bound(
            st.segmented_control, "Mean over", "average", view.page, options=list(selection.AVERAGES), required=True,
            format_func={"macro": "relations (macro)", "micro": "facts (micro)"}.get,
        )  # fmt: skip


def draw(view: View) -> None:
    """The stacked bars of total knowledge, with the sentence they tell."""
    table, k = totals(view), view.chosen.k
    if table["total"].isna().all():
        st.info("No facts are left under these filters. Loosen them in the sidebar.")
        return
    row = table.dropna(subset=["total"]).iloc[0]
    inner: str = ""
    if pd.notna(row["intermediate"]):
        inner = filled(" **{share:.0f} %** of what it knows is not in the last layer.", share=row["intermediate"] * 100)
    of_what = "the facts" if view.chosen.average == "micro" else "the facts of a relation on average"
    by_chance = (
        filled(
            " A union finds something by itself: {heads} re-trained heads of the last layer together give **{union:.1f} %**.",
            heads=int(row["seeds"]),
            union=row["seed_union"] * 100,
        )
        if pd.notna(row["seed_union"])
        else ""
    )
    st.markdown(
        filled(
            "On {probe_set}, {model} gives the right word at its last layer for **{last:.1f} %** of {of_what}, and at some "
            "layer for **{total:.1f} %**.{inner}{by_chance}",
            probe_set=set_name(row["probe_set"]),
            model=row["model"],
            last=row["last"] * 100,
            of_what=of_what,
            total=row["total"] * 100,
            inner=inner,
            by_chance=by_chance,
        )
    )
    names = {name: set_name(name) for name in table["probe_set"]}
    drawn = drawing(total_bars, table, k=k, colours=view.colours, names=names)
    filters = f"total knowledge, rank ≤ {k}, {view.chosen.average}, {view.filter_words()}"
    blocks.figure(
        drawn, table=table, stamp=view.stamp(filters, tuple(table["run_id"])), name="total-knowledge",
        caption="Solid: known at the last layer. Hatched: known at some inner layer only. Whiskers: 95 % interval of the total. A union "
        "over many layers grows by chance alone, so the hatched part is an upper bound; the upright mark, where heads were re-trained, is "
        "what a union over as many heads of the last layer knows.",
        alt="Total knowledge against the last layer, per probe set and model",
    )  # fmt: skip


def notable(view: View) -> None:
    """Facts to begin with: known ones first, then lost ones, then Rocky Balboa as he is."""
    if view.database is None:
        return
    runs = view.runs
    for probe_set in dict.fromkeys([view.chosen.probe_set, *runs["probe_set"]]):
        run = runs[(runs["model"] == view.chosen.model) & (runs["head"] == view.chosen.head) & (runs["probe_set"] == probe_set)]
        facts = view.read(notable_facts, run["run_id"].iloc[0], limit=5) if len(run) else pd.DataFrame()
        if len(facts):
            break
    else:
        return
    known, lost = st.columns(2, gap="large")
    for place, kind, title in (
        (known, "known at the last layer", "Facts it knows"),
        (lost, "lost at the last layer", "Known inside, lost at the end"),
    ):
        with place:
            st.markdown(filled("### {title}", title=title))
            mine = facts[facts["kind"] == kind]
            for fact in mine.itertuples():
                _fact_link(view, fact, kind)
            if mine.empty:
                st.caption("None in this run.")


def _fact_link(view: View, fact, kind: str) -> None:
    if kind.startswith("known"):
        words = f"since layer {fact.first_layer}" if pd.notna(fact.first_layer) else ""
    else:
        words = f"right up to layer {fact.last_layer}, rank {fact.last_rank:,} at the end"
    before, _, after = fact.prompt.partition(MASK)
    with st.container(horizontal=True, vertical_alignment="center", wrap=False, gap="small"):
        st.markdown(
            filled("{before}**{object}**{after} :gray[{words}]", before=before, object=fact.object, after=after, words=words),
            width="stretch",
        )
        navigation.link(
            "facts", "Open", afresh=True, model=view.chosen.model, head=view.chosen.head, probe_set=fact.probe_set, fact=fact.fact_id,
            **selection.ALL_FACTS,
        )  # fmt: skip


def rocky_card(view: View) -> None:
    """The running example of the paper, as this model has it."""
    with st.container(border=True):
        st.markdown("### Rocky Balboa was born in …")
        fact = rocky(view)
        told = Markdown("In the paper, BERT has *Philadelphia* first at layer 10 and loses it by layer 12.")
        if fact is not None:
            best, last = int(fact["best_rank"]), int(fact["last_rank"])
            here = (
                "has it right at the last layer"
                if last == 1
                else f"puts it at rank {last:,} in its last layer, and at rank {best:,} in its best one"
            )
            st.markdown(filled("{told} {model} {here}.", told=told, model=view.chosen.model, here=here))
            navigation.link(
                "facts", "See Rocky Balboa through all layers", afresh=True, model=view.chosen.model, head=view.chosen.head,
                probe_set=fact["probe_set"], fact=fact["fact_id"], **selection.ALL_FACTS,
            )  # fmt: skip
        else:
            st.markdown(told)
        navigation.link("live", "Ask it live", prompt=ROCKY, watch="philadelphia", mask=1)


def snapshot(view: View) -> None:
    """Which results these are."""
    assert view.database is not None
    runs = view.read(all_runs)
    dates = sorted(str(date)[:10] for date in runs["created"].dropna())
    made = f"made {dates[0]}" + (f" to {dates[-1]}" if dates and dates[-1] != dates[0] else "") if dates else ""
    probed = count(int(runs.drop_duplicates(["probe_set", "model"])["n_probed"].sum()), "fact asked", "facts asked")
    st.caption(
        filled(
            "These results: {runs} of {models}, {probed}, {made}; data fingerprint `{data_version}`.",
            runs=count(len(runs), "run"),
            models=count(runs["model"].nunique(), "model"),
            probed=probed,
            made=made,
            data_version=view.database.data_version[:16],
        )
    )
    with st.expander("The runs", icon=":material/inventory_2:"):
        columns = ["run_id", "model", "head", "probe_set", "template_set", "n_probed", "n_read", "role", "seed", "created", "code_version"]
        blocks.table_with_download(runs[columns], stamp=view.stamp("all runs", tuple(runs["run_id"])), name="runs")


def ways(view: View) -> None:
    """Where to go."""
    view.contents.section("Where to go")
    first, second = st.columns(2, gap="large")
    with first:
        navigation.link("layer_curves", "**Layer curves**: how much does each layer know?")
        navigation.link("relations", "**Relations**: what comes early, late, and is forgotten?")
        navigation.link("compare", "**Compare models**: what was kept, gained and lost?")
        navigation.link("facts", "**Facts**: one fact through all layers and models")
    with second:
        navigation.link("live", "**Live**: type a sentence with a gap")
        navigation.link("reproduction", "**Reproduction**: the paper's numbers beside ours")
        navigation.link("methods", "**Methods and data**: definitions, sources, licences")
