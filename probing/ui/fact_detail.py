"""One fact through all layers."""

import math

import pandas as pd
import streamlit as st

from probing.figures.rank_lines import rank_lines
from probing.figures.token_grid import token_grid
from probing.ui import fact_list, navigation, parts, selection
from probing.ui.chosen_runs import set_name
from probing.ui.page import View
from probing.ui.text import escape

#: More lines than this cannot be told apart.
MOST_LINES = 8


def show(view: View, fact_id: str) -> None:
    """Draws a fact: heading, grid of tokens, rank by layer."""
    if view.results is None or not fact_id:
        return
    found = view.results.read("fact", fact_id=fact_id)
    if found.empty:
        st.info("The link names a fact that is not in these results; the list above has those that are.", icon=":material/link_off:")
        return
    fact = found.iloc[0]
    runs = view.runs[view.runs["probe_set"] == fact["probe_set"]]
    rows = view.results.read("fact_predictions", fact_id=fact_id, run_ids=tuple(runs["run_id"]))
    _heading(view, fact, fact_id)
    _leaf(view, fact_id)
    run = fact_list.run_of(view)
    mine = rows[rows["run_id"] == run["run_id"]]
    if mine.empty:
        st.info(f"{escape(view.chosen.model)} with {escape(view.chosen.head)} heads was not asked this fact.", icon=":material/info:")
    else:
        _grid(view, fact, run, mine)
    if len(rows):
        _ranks(view, fact, runs, rows)


def _heading(view: View, fact: pd.Series, fact_id: str) -> None:
    st.markdown(fact_list.title_of(fact))
    about = [f"answer: **{escape(fact['object'])}**", escape(set_name(fact["probe_set"])), f"relation: {escape(fact['label'])}"]
    if isinstance(fact["pred"], str) and fact["pred"]:
        about.append(escape(fact["pred"]))
    if fact["answer_in_subject"]:
        about.append("the answer stands in the subject")
    assert view.results is not None
    asked = view.results.read("fact_runs", fact_id=fact_id)
    mine = asked[asked["run_id"] == fact_list.run_of(view)["run_id"]]
    if len(mine) and mine["exposure"].iloc[0] != "unknown":
        about.append(f"training text: {mine['exposure'].iloc[0]}")
    st.markdown(" · ".join(about))


def _leaf(view: View, fact_id: str) -> None:
    assert view.results is not None
    run = fact_list.run_of(view)
    before, after = view.results.read(
        "neighbours", run_id=run["run_id"], fact_id=fact_id, order=view.chosen.order, **fact_list.filters(view)
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, icon, target in (("Previous", ":material/arrow_back:", before), ("Next", ":material/arrow_forward:", after)):
            st.button(label, icon=icon, disabled=target is None, on_click=selection.update, kwargs={"fact": target or fact_id})
        found = view.results.read("fact", fact_id=fact_id).iloc[0]
        navigation.link("live", "Ask live", prompt=found["prompt"], watch=found["object"].lower(), live_model=view.chosen.model, mask=1)


def tokens_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Long form of the stored lists: ``layer, place, token, probability``."""
    return pd.DataFrame(
        [
            (int(row.layer), place, token, math.exp(logp))
            for row in rows.itertuples()
            for place, (token, logp) in enumerate(zip(row.tokens, row.top_logp, strict=True), 1)
        ],
        columns=["layer", "place", "token", "probability"],
    )


def _grid(view: View, fact: pd.Series, run: pd.Series, rows: pd.DataFrame) -> None:
    tokens = tokens_of(rows)
    stored = int(tokens["place"].max()) if len(tokens) else 0
    more = f" {stored} tokens a layer are stored for this run; “Ask live” shows more." if stored < 5 else ""
    parts.figure(
        token_grid(tokens, marked=[fact["object"]], columns=min(stored, 5)), table=tokens,
        stamp=view.stamp(f"{view.chosen.model} {view.chosen.head}, {fact['prompt']}", (run["run_id"],)), name="fact-tokens",
        caption=f"What each layer would fill in, best first; the right answer is framed, the stronger the tint, the more probable.{more}",
        alt=f"Top tokens of every layer for: {fact['prompt']}",
    )  # fmt: skip


def _ranks(view: View, fact: pd.Series, runs: pd.DataFrame, rows: pd.DataFrame) -> None:
    chosen = runs.assign(_mine=(runs["model"] == view.chosen.model) & (runs["head"] == view.chosen.head)).sort_values(
        "_mine", ascending=False
    )
    chosen = chosen[chosen["run_id"].isin(rows["run_id"])].head(MOST_LINES)
    several = chosen["head"].nunique() > 1
    names = {run.run_id: f"{run.model} · {run.head}" if several else run.model for run in chosen.itertuples()}
    colours = {names[run.run_id]: view.colours.get(run.model, "#808890") for run in chosen.itertuples()} if not several else None
    lines = rows[rows["run_id"].isin(names)].assign(name=lambda frame: frame["run_id"].map(names), rank=lambda frame: frame["gold_rank"])
    order = {name: number for number, name in enumerate(names.values())}
    lines = lines.sort_values(["name", "layer"], key=lambda column: column.map(order) if column.name == "name" else column)
    table = lines[["name", "layer", "gold_rank", "answer_rank", "other_rank", "gold_logp"]].assign(
        probability=[math.exp(value) for value in lines["gold_logp"]]
    )
    parts.figure(
        rank_lines(lines[["name", "layer", "rank"]].astype({"rank": "float64"}), colours=colours), table=table,
        stamp=view.stamp(f"rank of {fact['object']}, {fact['prompt']}", tuple(names)), name="fact-ranks",
        caption=f"Where “{fact['object']}” stands in each layer's ranking of the whole vocabulary; on top is first.",
        alt=f"Rank of {fact['object']} by layer",
    )  # fmt: skip
