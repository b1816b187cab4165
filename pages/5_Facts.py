"""One stored fact through all layers of a model, before and after fine-tuning; and facts of one's own."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from probing.choices import FACT_PARTS as PARTS
from probing.choices import FACTS_TABS as TABS
from probing.choices import FactsSelection
from probing.facts.forgotten import FATES, outcome_words
from probing.facts.page_clearest import clearest
from probing.facts.report import fates
from probing.facts.store import relations
from probing.facts.store_facts import (
    MAX_ROWS,
    commonest_answer,
    count_facts,
    fact_predictions,
    neighbours,
    random_fact,
    runs_of_fact,
    search_facts,
)
from probing.facts.store_facts import fact as fact_of
from probing.forgetting.report_outcome import facts as lost_facts
from probing.forgetting.report_outcome import stored_runs
from probing.forgetting.ways import LISTED_BY
from probing.kernel.app import blocks, filters, frame, selection
from probing.kernel.app.figure_cache import csv_bytes, drawing
from probing.kernel.app.frame import View, derived, run_of, show
from probing.kernel.app.selection import link
from probing.kernel.app.texts import Markdown, count, escape, filled, joined
from probing.kernel.figures.looks import head_name, set_name
from probing.kernel.stats.intervals import may_be_shown
from probing.live import page_examples
from probing.live import page_token_grids as token_grids
from probing.live.figures import compared_runs, rank_table, run_rank_lines
from probing.own_model.page_upload import show_upload

ROWS = 50
#: Models in the grids; two stand next to each other.
MAX_MODELS = 6
FIRST_PAGE: dict[str, Any] = {"list_page": 1, "fact": ""}
HOW = (
    f"Every layer of the model fills the gap, read through a head; the last layer is on top. {token_grids.SHADES} Rank:"
    " the place of the right word in the layer's list of all words. A run stores a few words of each layer; *Ask*"
    " shows more."
)
RANKS_CAPTION = "The place of the right word among all words, by layer."
RANKS_HOW = (
    "Rank 1 is on top, on a logarithmic axis. A ring marks the first layer with a line's best rank; the dotted line is"
    " rank 10."
)
OUTCOMES = {"kept": "kept by", "lost": "lost by", "gained": "gained by", "never": "not known to"}
KNOWN_WORDS = {"any": "known or not", "ever": "at some layer", "never": "at no layer"}
PART_WORDS = {part: f"lost: {outcome_words(part)}" if part in FATES else part for part in PARTS if part}
LISTED = {
    "subject": "subject",
    "object": "answer",
    "label": "relation",
    "their_last_rank": "theirs",
    "first_layer": "first",
    "last_layer": "last",
    "best_rank": "best rank",
    "last_rank": "last rank",
    "exposure": "in the training text?",
    "prompt": "prompt",
}


def compared(view: View) -> pd.Series | None:
    """The run that the chosen part compares with; None if no part is chosen or there is no such run."""
    own, chosen, runs = selection.of(FactsSelection), view.chosen, view.runs
    runs = runs[
        (runs["model"] != chosen.model) & (runs["head"] == chosen.head) & (runs["probe_set"] == chosen.probe_set)
    ]
    runs = runs[(runs["model"] == own.versus) & ~runs["counted"].astype(bool)]
    return runs.iloc[0] if own.part and len(runs) else None


def recovery(view: View) -> str:
    """Id of the run that asked for the facts that the model lost against its base; ``""`` if there is none."""
    recoveries = view.read(
        stored_runs, (view.chosen.model,), (view.chosen.probe_set,), (selection.of(FactsSelection).part_k,)
    )
    return next(iter(recoveries["run_id"]), "")


def active_filters(view: View) -> dict[str, Any]:
    """The active filters, as arguments of the store's queries."""
    own, run = selection.of(FactsSelection), compared(view)
    return {
        "text": own.text,
        "relation": own.relation or None,
        "known_at": own.known_at,
        "first_known": own.first_known,
        "last_known": own.last_known,
        "never_known": {"any": None, "ever": False, "never": True}[own.known],
        "exposures": view.exposures,
        "answer_in_subject": view.in_subject,
        "layer_rank": (own.at_layer, own.at_rank) if own.at_layer is not None else None,
        **({"back": (recovery(view), LISTED_BY[own.way_back])} if own.way_back else {}),
        **({} if run is None else {"versus": run["run_id"], "part": own.part, "part_k": own.part_k}),
    }


def labels_of_relations(view: View) -> dict[str, str]:
    table = view.read(relations)
    table = table[table["probe_set"] == view.chosen.probe_set]
    return dict(zip(table["relation"], table["label"], strict=True))


def bar(view: View) -> None:
    """Draws the model, and behind a button which facts are listed, with the chosen filters as chips."""
    own, labels, last = selection.of(FactsSelection), labels_of_relations(view), int(run_of(view)["layers"]) - 1
    chips = {
        "relation": "Relation",
        "known": "Known",
        "known_at": "Known at layer",
        "first_known": "First known at layer",
        "last_known": "Last known at layer",
        "at_layer": f"Rank ≤ {own.at_rank} at layer",
        "part": "Only",
        "way_back": "Way back",
        "versus": "Compared with",
        "fact_models": "Beside",
    }
    words = {**labels, **KNOWN_WORDS, **PART_WORDS, **{model: view.label(model) for model in view.colours}}
    with (
        filters.bar(
            view, "model", more=("head", "probe_set", "exposures", "in_subject"), own=chips, words=words
        ) as place,
        place,
    ):
        selection.bound("order", resets={"list_page": 1})
        menu(Markdown("Relation"), "relation", {"": "all relations", **labels})
        menu(Markdown("Known (rank 1)"), "known", KNOWN_WORDS)
        for field, first in (("known_at", 0), ("first_known", 1), ("last_known", 1)):
            layers = {layer: str(layer) for layer in range(first, last + 1)}
            menu(filled("{label}", label=chips[field]), field, {None: "any", **layers})
        if recovery(view):
            menu(Markdown("Way back of a lost fact"), "way_back", {"": "any", **{way: way for way in LISTED_BY}})
        chosen = view.chosen
        alike = view.runs[(view.runs["head"] == chosen.head) & (view.runs["probe_set"] == chosen.probe_set)]
        whole = set(alike.loc[~alike["counted"].astype(bool), "model"])
        others = [name for name in view.colours if name != chosen.model and name in whole]
        if others:
            names = {"": "no other model", **{name: view.label(name) for name in others}}
            menu(Markdown("Compared with"), "versus", names)
            menu(Markdown("Only facts that were"), "part", {"": "any", **PART_WORDS})
            selection.bound("part_k", resets=FIRST_PAGE)
            selection.bound("fact_models", options=others, format_func=view.label, max_selections=MAX_MODELS - 2)
            further = [name for name in own.fact_models if name in others][MAX_MODELS - 2 :]
            blocks.say_ignored([view.name(name) for name in further], of="the models that fit beside each other")


def menu(label: Markdown, field: str, options: Mapping[Any, str]) -> None:
    selection.bound(field, label, options=options, resets=FIRST_PAGE)


def bases(runs: pd.DataFrame) -> dict[str, str]:
    """Model -> its base, of those whose base is among the runs, too."""
    named = dict(zip(runs["model"], runs["base"].fillna(""), strict=True))
    return {model: base for model, base in named.items() if base != model and base in named}


def side_by_side(view: View, runs: pd.DataFrame) -> list[str]:
    """Models whose grids are drawn: the base, its fine-tuned model, and those that the user added."""
    own, chosen, there = selection.of(FactsSelection), view.chosen.model, set(runs["model"])
    base, asked = bases(view.runs).get(chosen), bases(runs)
    if not base and asked.get(own.versus) != chosen:
        tuned = [name for name in view.colours if asked.get(name) == chosen and name not in view.controls]
        telling = clearest(view)
        tuned.sort(key=lambda name: name != telling)
        pair = [chosen, *tuned[:1]]
    else:
        pair = [base, chosen] if base else [chosen, own.versus]
    return [name for name in dict.fromkeys((*pair, *own.fact_models)) if name in there][:MAX_MODELS]


def where(layers: list[int], last: int) -> str:
    """At which layers the right word comes first: "from layer 5 on", "at layers 2 and 3", "at no layer"."""
    if layers and layers == list(range(layers[0], last + 1)) and layers[0] < last:
        return f"from layer {layers[0]} on"
    return page_examples.at_layers(layers)


def say(view: View, fact: pd.Series, rows: Mapping[str, pd.DataFrame], table: pd.DataFrame) -> None:
    """Draws the sentence of a fact, on the first model of the grids and the one that was fine-tuned from it."""
    first, *others = rows
    layers = page_examples.first_layers(rows[first])
    known = filled(
        "{sentence}: **{answer}** {where}",
        sentence=fact["prompt"].replace("[MASK]", "___").rstrip(" ."),
        answer=fact["object"],
        where=where(layers, int(rows[first]["layer"].max())),
    )
    outcome = table.loc[table["model"].isin(others[:1]), "outcome"]
    parts = [
        filled("{part} {model}", part=OUTCOMES[str(part).split(":")[0]], model=view.name(others[0])) for part in outcome
    ]
    blocks.sentence(joined("; ", [known, *parts]) + Markdown("."))


def one_fact(view: View, fact_id: str) -> None:
    """Draws a fact: sentence, bar, grids beside the curve of ranks, and what is known of it."""
    facts = view.read(fact_of, fact_id)
    if facts.empty:
        bar(view)
        if fact_id:
            blocks.note(
                "The fact in this link is not in these results; choose another one from the list below.", "link_off"
            )
        return
    fact = facts.iloc[0]
    runs, predictions, alike = asked_of(view, fact_id, fact["probe_set"])
    run_ids = alike.drop_duplicates("model").set_index("model")["run_id"]
    beside = side_by_side(view, alike)
    grid_models = {model: predictions[predictions["run_id"] == run_ids[model]] for model in beside}
    outcomes = outcomes_of(view, fact_id, fact["probe_set"], selection.of(FactsSelection).part_k)

    def draw_outcomes() -> None:
        blocks.table_with_download(
            outcomes,
            shown=outcomes.assign(model=outcomes["model"].map(view.label)),
            stamp=view.stamp(f"fates of {fact['prompt']}", tuple(run_ids)),
            name="fact-fates",
            column_config={"rank": "last rank", "best_layer": "at layer", "known_at": "first at layers"},
        )

    if grid_models:
        say(view, fact, grid_models, outcomes)
    bar(view)
    if view.chosen.model not in run_ids and not frame.counts_only(run_of(view)):
        words = "{model} was not asked this fact, read with {head}."
        blocks.note(words, model=view.name(view.chosen.model), head=head_name(view.chosen.head))
    if grid_models:
        left, right = st.columns([2, 1])
        with left:
            grids(view, fact, grid_models, run_ids)
        with right:
            curve(view, fact, runs, predictions, list(grid_models))
    about(view, fact, grid_models)
    if len(outcomes):
        words = "In every model fine-tuned from the same base"
        blocks.folded(words, draw_outcomes, key="outcomes", icon="table_rows")


@derived
def asked_of(view: View, fact_id: str, probe_set: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The runs on a fact's set, what they say to the fact, and those of them that models are compared by: through the
    same kind of head.
    """
    runs = view.runs[view.runs["probe_set"] == probe_set]
    predictions = view.read(fact_predictions, fact_id, tuple(runs["run_id"]))
    return runs, predictions, runs[(runs["head"] == view.chosen.head) & runs["run_id"].isin(predictions["run_id"])]


@derived
def outcomes_of(view: View, fact_id: str, probe_set: str, k: int) -> pd.DataFrame:
    """What became of a fact in every model fine-tuned from the same base, the chosen one first; see ``fates``."""
    _, predictions, alike = asked_of(view, fact_id, probe_set)
    named, chosen = bases(alike), view.chosen.model
    base = named.get(chosen, chosen)
    of_run = {run_id: [int(rank) for rank in rows] for run_id, rows in predictions.groupby("run_id")["gold_rank"]}
    ranks = {row.model: of_run[row.run_id] for row in alike.drop_duplicates("model").itertuples()}
    order = [chosen, *view.colours, *ranks]
    after = {model: ranks[model] for model in dict.fromkeys(order) if model in ranks and named.get(model) == base}
    after = {model: by_layer for model, by_layer in after.items() if len(by_layer) > 2}
    return fates(ranks.get(base, []), after if len(ranks.get(base, [])) > 1 else {}, k)


def grids(view: View, fact: pd.Series, by_model: Mapping[str, pd.DataFrame], run_ids: pd.Series) -> None:
    """Draws the words of every layer, two models next to each other, with their quiet row."""
    grids_of = {model: page_examples.grid(view, model, rows) for model, rows in by_model.items()}
    drawn = list(grids_of.values())
    for number in range(0, len(drawn), 2):
        token_grids.draw(drawn[number : number + 2], answer=fact["object"], key=f"facts.grids.{number}")
    model = next(iter(grids_of))
    blocks.files(
        token_grids.as_figure(drawn[0], fact["object"]),
        table=token_grids.numbers(grids_of.items()),
        stamp=view.stamp(
            f"{', '.join(grids_of)}, {view.chosen.head}, {fact['prompt']}", tuple(run_ids[list(grids_of)])
        ),
        name="fact-tokens",
        caption=token_grids.caption(),
        how=joined(" ", [Markdown(HOW), *guesses(view, fact, by_model[model], run_ids[model])]),
        alt=f"Words of every layer for: {fact['prompt']}",
    )


def guesses(view: View, fact: pd.Series, rows: pd.DataFrame, run_id: str) -> list[Markdown]:
    """What guessing would give: the commonest answer of the relation, and the word's rank for somebody else's name."""
    parts = []
    commonest = view.read(commonest_answer, run_id, fact["fact_id"])
    if len(commonest) and may_be_shown(commonest["of"].iloc[0]):
        parts.append(
            filled(
                "The commonest answer of “{label}” is {word}.", label=fact["label"], word=commonest["object"].iloc[0]
            )
        )
    other = rows.sort_values("layer")["other_rank"].iloc[-1]
    if pd.notna(other):
        words = "With somebody else's name in the question, the last layer gives {answer} rank {rank:,}."
        parts.append(filled(words, answer=fact["object"], rank=int(other)))
    return parts


def curve(view: View, fact: pd.Series, runs: pd.DataFrame, predictions: pd.DataFrame, models: list[str]) -> None:
    """Draws the right word's rank by layer in the models of the grids; of one model alone, by every head."""
    table = rank_table(compared_runs(runs, list(predictions["run_id"]), view.chosen.head, models), predictions)
    table = table[table["model"].isin(models)]
    labels = {model: view.label(model) for model in models}
    blocks.figure(
        drawing(run_rank_lines, table, colours=view.colours, labels=labels, controls=view.controls),
        table=table,
        stamp=view.stamp(
            f"rank of {fact['object']}, {fact['prompt']}", tuple(runs.loc[runs["model"].isin(models), "run_id"])
        ),
        name="fact-ranks",
        caption=RANKS_CAPTION,
        how=RANKS_HOW,
        alt=f"Rank of {fact['object']} by layer",
    )


def about(view: View, fact: pd.Series, by_model: Mapping[str, pd.DataFrame]) -> None:
    """Draws one line on the fact, how it comes back if it was lost, and the ways to other facts."""
    run = run_of(view)
    parts = [escape(set_name(fact["probe_set"])), filled("relation: {label}", label=fact["label"])]
    runs = view.read(runs_of_fact, fact["fact_id"])
    of_run = runs[(runs["run_id"] == run["run_id"]) & (runs["exposure"] != "unknown")]
    parts += [filled("in the training text: {exposure}", exposure=exposure) for exposure in of_run["exposure"]]
    parts += [escape("the name gives it away")] if fact["answer_in_subject"] else []
    parts += way_back(view, fact, list(by_model)[1:2])
    st.markdown(joined(" · ", parts))
    before, after = view.read(
        neighbours, run["run_id"], fact["fact_id"], order=selection.of(FactsSelection).order, **active_filters(view)
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, icon, target in (("Previous", "arrow_back", before), ("Next", "arrow_forward", after)):
            to = {"fact": target or fact["fact_id"]}
            st.button(
                filled("{label}", label=label),
                icon=f":material/{icon}:",
                disabled=target is None,
                on_click=selection.update,
                kwargs=to,
            )
        others = tuple(name for name in by_model if name != view.chosen.model)
        asked_now = {
            "prompt": fact["prompt"],
            "watch": fact["object"],
            "live_model": view.chosen.model,
            "live_models": others,
            "mask": 1,
        }
        link("ask", "Ask it now", **asked_now)


def way_back(view: View, fact: pd.Series, tuned: list[str]) -> list[Markdown]:
    """How a lost fact comes back in the fine-tuned model of the grids, if that was measured."""
    if not tuned:
        return []
    for run_id in view.read(stored_runs, tuple(tuned), (fact["probe_set"],), (1,))["run_id"]:
        recovered = view.read(lost_facts, run_id, None, (fact["relation"],))
        recovered = recovered[recovered["fact_id"] == fact["fact_id"]]
        if len(recovered):
            return [filled("comes back by: {way}", way=recovered["way"].iloc[0])]
    return []


def listing(view: View, first: DeltaGenerator) -> str:
    """Draws the search (in ``first``) and the list of facts; returns the id of the fact to show, ``""`` if none."""
    own, run = selection.of(FactsSelection), run_of(view)
    if frame.say(view, run):
        return own.fact
    filters, last = active_filters(view), int(run["layers"]) - 1
    total = view.read(count_facts, run["run_id"], **filters)
    with first:
        chips = search(view, run["run_id"], filters, total, last)
    why_no_part(view)
    if own.way_back and not filters["back"][0]:
        words = "No way back was looked for to the facts of {facts} that {model} lost."
        blocks.note(words, "link_off", facts=set_name(view.chosen.probe_set), model=view.name(view.chosen.model))
    if not total:
        st.info("No fact passes these filters.", icon=":material/filter_alt_off:")
        st.button("Clear all filters", on_click=selection.update, kwargs={"afresh": True, **selection.ALL_FACTS})
        return own.fact
    pages = -(-total // ROWS)
    at = min(max(own.list_page, 1), pages)
    other = compared(view)
    filters = filters if other is None else {**filters, "other": other["run_id"]}
    facts = view.read(search_facts, run["run_id"], order=own.order, offset=(at - 1) * ROWS, limit=ROWS, **filters)
    ids = list(facts["fact_id"])
    key = f"facts.list.{abs(hash((run['run_id'], at, own.order, *filters.values())))}"
    table = facts[[name for name in LISTED if name in facts]].rename(columns=LISTED)
    headings = {"first": "first known", "last": "last known", "theirs": f"last rank in {view.label(own.versus)}"}
    if own.text:
        with chips:
            for row in facts.head(5).itertuples():
                words = filled("{subject}: {answer}", subject=row.subject or row.prompt, answer=row.object)
                st.button(words, key=f"facts.hit.{row.Index}", on_click=selection.update, kwargs={"fact": row.fact_id})
    st.header("All that were found" if own.text else "All facts", anchor="find-a-fact")
    blocks.choices(table, lambda row: selection.update(fact=ids[row]), key=key, headings=headings)
    leaf(view, run["run_id"], filters, total, at, pages)
    if own.fact:
        return own.fact
    rocky = balboa(view) if unfiltered(view) else None
    if rocky is not None and rocky["probe_set"] != view.chosen.probe_set:
        rocky = None
    # A fact whose answer is part of its subject is a poor example.
    apart = [fact for fact, inside in zip(ids, facts["answer_in_subject"], strict=True) if not inside]
    return str(rocky["fact_id"]) if rocky is not None else (apart or ids)[0]


def balboa(view: View) -> pd.Series | None:
    """The running example of the paper, if the chosen model was asked its set; it is searched once for all models."""
    rocky, runs = page_examples.rocky(view, view.runs), view.runs[view.runs["model"] == view.chosen.model]
    asked = set(runs.loc[runs["head"] == view.chosen.head, "probe_set"])
    return rocky if rocky is not None and rocky["probe_set"] in asked else None


def unfiltered(view: View) -> bool:
    """Whether the list has every fact of the run, in its first order."""
    own = selection.of(FactsSelection)
    plain = FactsSelection(
        fact_models=own.fact_models, fact=own.fact, versus=own.versus, part_k=own.part_k, at_rank=own.at_rank
    )
    return not view.filtered and own == plain


def search(view: View, run_id: str, filters: dict[str, Any], total: int, last: int) -> DeltaGenerator:
    """Draws the search, and ways to facts worth looking at; returns the place of what is found."""
    selection.bound("text", placeholder="subject, answer or words of the sentence", resets=FIRST_PAGE)
    seed = st.session_state.get("facts.seed", 0)

    def pick_random() -> None:
        st.session_state["facts.seed"] = seed + 1
        selection.update(fact=view.read(random_fact, run_id, seed=seed, **filters))

    chips = st.container(horizontal=True, vertical_alignment="center", gap="small")
    with chips:
        st.markdown(filled("**{facts}**", facts=count(total, "fact")))
        st.button("Random", icon=":material/casino:", on_click=pick_random, disabled=not total)
        if selection.of(FactsSelection).text:
            return chips
        afresh = {"afresh": True, **selection.ALL_FACTS}
        rocky = balboa(view)
        if rocky is not None:
            to = {**afresh, "probe_set": rocky["probe_set"], "fact": rocky["fact_id"]}
            st.button("Rocky Balboa", on_click=selection.update, kwargs=to)
        at_the_end, inside = {**afresh, "known_at": last}, {**afresh, "known": "ever", "order": "worst last rank"}
        st.button("Right at the last layer", on_click=selection.update, kwargs=at_the_end)
        st.button("Right inside, not at the end", on_click=selection.update, kwargs=inside)
    return chips


def why_no_part(view: View) -> None:
    """Says why facts of a pair of models cannot be listed."""
    own, chosen = selection.of(FactsSelection), view.chosen
    if not own.part or compared(view) is not None:
        return
    runs = view.runs[(view.runs["model"] == own.versus) & (view.runs["head"] == chosen.head)]
    counted = runs[runs["probe_set"] == chosen.probe_set]
    if own.versus == chosen.model:
        why = filled("{model} is compared with itself", model=view.name(own.versus))
    elif frame.say(view, *(run for _, run in counted.iterrows())):
        why = filled("only counts are stored for {model}", model=view.name(own.versus))
    elif own.versus:
        words = "no run of {model} read with {head} on {facts} is stored"
        why = filled(words, model=view.name(own.versus), head=head_name(chosen.head), facts=set_name(chosen.probe_set))
    else:
        why = Markdown("choose the model to compare with")
    blocks.note("Facts that were {part} cannot be listed: {why}.", "link_off", part=PART_WORDS[own.part], why=why)


def leaf(view: View, run_id: str, filters: dict[str, Any], total: int, at: int, pages: int) -> None:
    """Draws the buttons to the other parts of a long list, and the CSV of all of it."""

    def content() -> bytes:
        starts, order = range(0, total, MAX_ROWS), selection.of(FactsSelection).order
        parts = [
            view.read(search_facts, run_id, order=order, offset=start, limit=MAX_ROWS, **filters) for start in starts
        ]
        names = [view.chosen.model, view.chosen.head, set_name(view.chosen.probe_set), view.filter_words()]
        filters_words = ", ".join([*names, *(f"{name} {value}" for name, value in filters.items() if value)])
        return csv_bytes(pd.concat(parts), view.stamp(filters_words, (run_id,)))

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if pages > 1:
            for label, icon, to, ends in (
                ("Back", "chevron_left", at - 1, 1),
                ("More", "chevron_right", at + 1, pages),
            ):
                kwargs = {"list_page": to, "fact": ""}
                key = f"facts.{label.lower()}"
                st.button(
                    filled("{label}", label=label),
                    key=key,
                    icon=f":material/{icon}:",
                    disabled=at == ends,
                    on_click=selection.update,
                    kwargs=kwargs,
                )
            st.caption(filled("page {at:,} of {pages:,}", at=at, pages=pages), width="content")
        blocks.download("CSV", content, "facts.csv", "text/csv", "facts.csv", disabled=not total)


def draw(view: View) -> None:
    with selection.open_tab("facts_tab", TABS, view.page) as tab:
        if tab == "stored":
            first, above, below = st.container(), st.container(), st.container()
            with below:
                fact_id = listing(view, first)
            with above:
                one_fact(view, fact_id)
        else:
            show_upload(view)


show("facts", "Facts", "Show me one fact", draw)
