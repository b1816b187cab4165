"""The lower part of Home: links to other pages, facts worth looking at, and a summary of the results."""

from functools import partial

import pandas as pd
import streamlit as st

from probing.core.facts.fact import MASK
from probing.store.knowledge.one_fact import notable_facts
from probing.store.run_queries import runs as all_runs
from probing.ui.frame import navigation, selection
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import count, filled


def notable(view: View) -> None:
    """Draws links to facts to begin with: known ones on the left, lost ones on the right."""
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
    view.contents.section("Facts worth looking at")
    known, lost = st.columns(2, gap="large")
    for place, kind, title in (
        (known, "known at the last layer", "Right at the last layer"),
        (lost, "lost at the last layer", "Known inside, lost at the end"),
    ):
        with place:
            st.markdown(filled("### {title}", title=title))
            of_kind = facts[facts["kind"] == kind]
            for fact in of_kind.itertuples():
                _fact_link(view, fact, kind)
            if of_kind.empty:
                st.caption("None in this run.")


def _fact_link(view: View, fact, kind: str) -> None:
    if kind.startswith("known"):
        words = f"since layer {fact.first_layer}" if pd.notna(fact.first_layer) else ""
    else:
        words = f"last right at layer {fact.last_layer}, rank {fact.last_rank:,} at the end"
    before, _, after = fact.prompt.partition(MASK)
    with st.container(horizontal=True, vertical_alignment="center", wrap=False, gap="small"):
        st.markdown(
            filled("{before}**{object}**{after} :gray[{words}]", before=before, object=fact.object, after=after, words=words),
            width="stretch",
        )
        navigation.link(
            "facts",
            "Open",
            afresh=True,
            model=view.chosen.model,
            head=view.chosen.head,
            probe_set=fact.probe_set,
            fact=fact.fact_id,
            **selection.ALL_FACTS,
        )


def snapshot(view: View) -> None:
    """Draws a summary of the results: runs, models, dates and fingerprint."""
    assert view.database is not None
    runs = view.read(all_runs)
    dates = sorted(str(date)[:10] for date in runs["created"].dropna())
    made = f"made {dates[0]}" + (f" to {dates[-1]}" if dates and dates[-1] != dates[0] else "") if dates else ""
    probed = count(int(runs.drop_duplicates(["probe_set", "model"])["n_probed"].sum()), "fact probed", "facts probed")
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
    columns = ["run_id", "model", "head", "probe_set", "template_set", "n_probed", "n_read", "role", "seed", "created", "code_version"]
    draw = partial(blocks.table_with_download, runs[columns], stamp=view.stamp("all runs", tuple(runs["run_id"])), name="runs")
    blocks.folded("The runs", draw, key="runs.fold", icon="inventory_2")


def ways(view: View) -> None:
    """Draws links to the other pages, in the order of the sidebar."""
    view.contents.section("Where to go")
    first, second = st.columns(2, gap="large")
    with first:
        navigation.link("live", "**Live**: type a sentence with a gap, or choose its words")
        navigation.link("layer_curves", "**Layer curves**: how much does each layer know?")
        navigation.link("relations", "**Relations**: which are known early, and which late?")
        navigation.link("facts", "**Facts**: one fact through all layers and models")
        navigation.link("compare", "**Compare models**: what was kept, gained and lost?")
        navigation.link("heads", "**Decoding heads**: what does the read-out change?")
    with second:
        navigation.link("pipeline", "**Pipeline**: where do syntax and meaning appear?")
        navigation.link("edge_sentences", "**Edge sentences**: one sentence, analysed layer by layer")
        navigation.link("sentence_probes", "**Sentence probes**: what do whole sentences show?")
        navigation.link("fine_tuning", "**What fine-tuning changed**: all evidence for one model")
        navigation.link("forgetting", "**Forgetting**: lost facts, and their ways back")
        navigation.link("own_model", "**Your model**: what it knows of your facts, and what it lost")
        navigation.link("reproduction", "**Reproduction**: the paper's numbers compared with ours")
        navigation.link("methods", "**Methods and data**: definitions, sources, licences")
    st.caption(
        "The explorer rebuilds and extends the experiments of *BERTnesia: Investigating the capture and forgetting of knowledge in BERT* "
        "(Wallat, Singh and Anand 2020), of *BERT Rediscovers the Classical NLP Pipeline* (Tenney, Das and Pavlick 2019), and of *On the "
        "Interplay Between Fine-tuning and Sentence-Level Probing for Linguistic Knowledge in Pre-Trained Transformers* (Mosbach et al. "
        "2020)."
    )
