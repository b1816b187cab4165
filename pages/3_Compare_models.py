"""Compare models: what fine-tuning forgot, whether it comes back, when it went, and what prevents it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from probing.choices import ALL_LOST, CompareSelection
from probing.choices import COMPARE_TABS as TABS
from probing.compared.page_all_models import draw_all_models
from probing.compared.page_beyond import draw_changes
from probing.compared.page_pair import Pair, choose, comparable
from probing.facts.figures import answer_shares
from probing.facts.figures_pairs import alluvial, paired_curve
from probing.facts.figures_relations import relation_slopes
from probing.facts.forgotten import FATES, outcome_words
from probing.facts.page_carried import draw_carried_pair
from probing.facts.report_layers import answer_drift, by_layer
from probing.facts.report_pairs import FEWEST, paired_with_yardsticks, relation_losses, transitions_beside_wrong
from probing.facts.store_candidates import candidate_runs
from probing.facts.totals import KIND_LABELS, KINDS
from probing.forgetting import report_outcome
from probing.forgetting.figures import flow_of_100
from probing.forgetting.memory import WRONG
from probing.forgetting.page_when import draw_prevention, draw_savings, draw_when
from probing.forgetting.report_outcome import hundred
from probing.forgetting.store import BACK_COLUMNS
from probing.forgetting.ways import BACK, BY_ANY, GAINED, KEPT, LISTED_BY, NOT_RECOVERED, STEPS, WAYS
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View, derived, go, link, say, show
from probing.kernel.app.save import plot
from probing.kernel.app.texts import Markdown, count, filled
from probing.kernel.fact import PROBE_SETS
from probing.kernel.figures.yardsticks import pair_above
from probing.kernel.stats.intervals import wider

RECOVER = "python -m probing forgetting recover --k {k} --model {model}"
#: The ranks for which ways back can be looked for.
RECOVERED = (1, 10)
FLOW = (
    "Each counts once, at its first way back: another layer, a refitted head, layers put back, or relearned. Click a"
    " part to list its facts."
)
FLOW_HOW = (
    "The base's facts are those whose answer, one token, it ranks within k of all words at its last layer. A lost fact"
    " is tried by four ways, from the cheapest: the base's head reads it at another layer; a head fitted to the last"
    " layer in closed form, on text without facts, reads it; it is back when some of the last layers are the base's"
    " again, at most half of all; it is back after 15 steps of training on other facts with other answers. Guesses"
    " come back, too: that a fact does not show that it is remembered or used, and that it does not says nothing on"
    " other ways. Data has each way by itself beside its yardsticks: wrong answers, facts that the base never knew, a"
    " body with random layers; the test of memory, of which 5 in 100 say more or less often if nothing differs; and the"
    " fates of lost facts at inner layers."
)
FATES_CAPTION = "Heights are numbers of facts; each share says what it is a share of. Click a part to open its facts."
FATES_HOW = (
    "Rank at the last layer, among all words. A lost fact is still first at an inner layer, as in the base; moved to an"
    " inner layer, where the base has not got it first; among the first 100 at the last layer; only at an inner layer;"
    " or at none. Data has the two fates at inner layers beside equally confident wrong answers, and the facts that"
    " only one of the two was asked."
)
RELATIONS = (
    "Open: before fine-tuning; filled: after. Right: change in the facts that were known. Click a row for its lost"
    " facts."
)
RELATIONS_OF_COUNTS = (
    "Open: before fine-tuning; filled: after. Right: how much the right answers grew or shrank. Click a row for its"
    " facts."
)
RELATIONS_HOW = (
    "Every row is a kind of fact (relation). Right answers at the last layer. The share at the right is of the facts"
    " that the base knows; facts gained are not in it, unless only counts are stored: then it is the net loss."
    " Relations of which the base knows fewer than 30 facts come last. Data has fates, ways back, intervals and"
    " McNemar's exact test, not corrected for the number of relations."
)
CURVES = (
    "Above: both models on the same facts. Below: their difference, with 95 % intervals. Click a point for its facts."
)
CURVES_HOW = (
    "Every fact counts once (micro). Grey and dashed: the commonest answer of the relation. Dotted: the same model"
    " asked with somebody else's name in the question; above it, the answer depends on the name. Thin lines: least and"
    " most of other trainings for the task (seeds). Shuffled labels: trained as long on labels that say nothing. Filled"
    " diamonds: exact McNemar p ≤ 0.05, not corrected; minus somebody else's name, the interval excludes 0. Data has"
    " all of these as columns."
)
ANSWERS = "The word that a layer ranks first, by the first kind that fits, from bottom to top."


def first_view(pair: Pair) -> Markdown | None:
    """Draws the picture; returns the page's sentence, None if there is nothing to count."""
    if len(pair.recovery):
        return ways_back(pair)
    if pair.by_fact:
        return fates(pair)
    if pair.runs is not None:
        return counts(pair)
    blocks.missing(
        "{model} and {base} were not asked the same facts.",
        f"python -m probing probe --facts all --model {pair.tuned}",
        model=pair.view.name(pair.tuned),
        base=pair.view.name(pair.base),
    )
    return None


@derived
def flow(view: View, recovery: pd.DataFrame, gained: tuple[int, int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The parts of 100 known facts, see ``hundred``; and what any way brings back beside wrong answers."""
    counted, tests, ways = (
        view.read(function, recovery)
        for function in (report_outcome.outcome, report_outcome.memory, report_outcome.ways)
    )
    return hundred(counted, tests, ways, gained), ways[(ways["way"] == BY_ANY) & (ways["yardstick"] == WRONG)]


def ways_back(pair: Pair) -> Markdown:
    """100 facts as one flow: kept, each way back, not back, gained."""
    view, moved = pair.view, pd.DataFrame()
    if pair.by_fact:
        moved = view.report(transitions_beside_wrong, pair.frame, (view.chosen.k,))
    row = moved.iloc[0] if len(moved) else None
    if row is not None:
        filters.say_size(moved, pair.probe_set)
    gained = (0, 0) if row is None else (int(row["gained"]), int(row["kept"] + row["lost"]))
    parts, guesses = flow(view, pair.recovery, gained)
    blocks.figure(
        drawing(
            flow_of_100,
            parts,
            base=view.name(pair.base),
            model=view.label(pair.tuned),
            base_colour=view.colours_of([pair.base])[pair.base],
        ),
        table=parts if row is None else pd.concat([parts, of_fates(row)], ignore_index=True),
        stamp=pair.stamp(f"100 known facts, rank ≤ {view.chosen.k}", (*pair.run_ids, pair.recovery["run_id"].iloc[0])),
        name="flow",
        caption=FLOW,
        how=FLOW_HOW,
        alt="Of 100 facts that the base knew: kept, come back by each way, not back; and gained",
        on_point=lambda point: opened(pair, str(point[0])),
    )
    kept, back, left = (int(parts.loc[parts["kind"] == kind, "n"].sum()) for kind in (KEPT, BACK, NOT_RECOVERED))
    words = "{model} keeps {kept:.0f} % of what {base} knew. Of the lost, {back:.0f} % come back by one of four ways; "
    words += "so do {wrong:.0f} % of equally confident wrong answers." if len(guesses) else "no guesses were tried."
    return filled(
        words,
        base=view.name(pair.base),
        model=view.name(pair.tuned),
        kept=100 * kept / max(1, kept + back + left),
        back=100 * (guesses["share"].sum() if len(guesses) else back / max(1, back + left)),
        wrong=100 * guesses["yardstick_share"].sum(),
    )


def of_file(pair: Pair) -> None:
    """Says why Your model counts other facts of the same file than this page."""
    runs = pair.view.read(candidate_runs)
    ranked = runs[(runs["model"] == pair.tuned) & (runs["probe_set"] == pair.probe_set)]["n_probed"]
    if pair.runs is None or pair.probe_set in PROBE_SETS or ranked.empty:
        return
    words = (
        "Here {n:,} facts, ranked among all words. *Your model* has other numbers if it ranks the answers of the file,"
        " which may have several word pieces: {all:,} facts."
    )
    blocks.caption(words, n=int(pair.runs[1]["n_probed"]), all=int(ranked.iloc[0]))


def of_fates(row: pd.Series) -> pd.DataFrame:
    """What the lost facts still are at inner layers, beside equally confident wrong answers, as rows of ``Data``."""
    known = max(1, int(row["kept"] + row["lost"]))
    rows = [
        {
            "part": outcome_words(fate),
            "kind": "fate of the lost",
            "n": int(row[fate]),
            "per_100": 100 * row[fate] / known,
            "share: wrong answers": row.get(f"{fate}_share"),
            "yardstick: wrong answers": row.get(f"{fate}_wrong"),
        }
        for fate in FATES
    ]
    return pd.DataFrame(rows)


def opened(pair: Pair, part: str) -> None:
    """Opens the facts of a part of the flow: on Facts, or here if the model's single answers are not stored."""
    if part in (*WAYS, NOT_RECOVERED):
        if pair.by_fact:
            go(pair.view, way_back=part, part_k=pair.view.chosen.k)
        else:
            selection.update(lost_way=part, lost_relation="")
    elif pair.by_fact:
        go(pair.view, versus=pair.base, part=part, part_k=pair.view.chosen.k)


def fates(pair: Pair) -> Markdown | None:
    """Kept, lost and gained, and the fates of the lost, where no ways back are stored."""
    view, k = pair.view, pair.view.chosen.k
    table = view.report(transitions_beside_wrong, pair.frame, (k,))
    if table.empty or not int(table["n"].iloc[0]):
        st.info("No fact was asked of both models under these filters.", icon=":material/filter_alt_off:")
        return None
    filters.say_size(table, pair.probe_set)
    row, labels = wider(table).iloc[0], filters.labels(view)
    names = {"model": pair.tuned, "head": view.chosen.head, "probe_set": pair.probe_set, "base": pair.base}
    blocks.figure(
        drawing(
            alluvial,
            {name: int(row[name]) for name in (KEPT, "lost", GAINED, "never", *FATES)},
            base=pair.base,
            model=pair.tuned,
            colours=view.colours,
            labels=labels,
        ),
        table=table,
        stamp=pair.stamp(f"transitions, rank ≤ {k} at the last layer"),
        name="flow",
        caption=FATES_CAPTION,
        how=FATES_HOW,
        alt="Facts kept, lost and gained, and what happened to the lost ones",
        on_point=lambda point: opened(pair, str(point[0])),
        call=plot("facts", "transitions", {**names, "k": k}, view.filtered),
    )
    known = int(row["kept"] + row["lost"])
    # Of fewer than a hundred facts every one counts, and shares would claim more than was asked.
    kept, gained = (
        f"{100 * row[part] / known:.0f} %" if known >= 100 else str(int(row[part])) for part in (KEPT, GAINED)
    )
    return filled(
        "{model} keeps {kept} of the {known} that {base} knew, and gains {gained}.",
        known=count(known, "fact"),
        base=view.name(pair.base),
        model=view.name(pair.tuned),
        kept=kept,
        gained=gained,
    )


def counts(pair: Pair) -> Markdown | None:
    """What both know at the last layer, where single facts are not stored; their curves are on Layers."""
    assert pair.runs is not None
    view, k = pair.view, pair.view.chosen.k
    say(view, *pair.runs)
    table = view.report(by_layer, pair.run_ids, f"p_at_{k}", "micro")
    if table.empty or table["value"].isna().all():
        st.info("No facts are left under these filters.", icon=":material/filter_alt_off:")
        return None
    filters.say_size(table, pair.probe_set)
    selection.link("layers", "Both curves, layer by layer", models=(pair.base, pair.tuned))
    base, model = (table[table["run_id"] == run_id].sort_values("layer")["value"].iloc[-1] for run_id in pair.run_ids)
    words = "{model} knows {now:.0f} % of the facts, {base} {before:.0f} %."
    names = {"model": view.name(pair.tuned), "base": view.name(pair.base)}
    return filled(words, now=100 * model, before=100 * base, **names)


def below(pair: Pair) -> None:
    """The line below the picture: lists of facts, and whether the two can be compared."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="below-flow"):
        if len(pair.recovery):
            opens = partial(selection.update, lost_way=ALL_LOST, lost_relation="")
            st.button("List the lost facts", icon=":material/list:", type="tertiary", on_click=opens)
        if pair.by_fact:
            for part in (KEPT, GAINED) if len(pair.recovery) else (KEPT, "lost", GAINED):
                link(pair.view, filled("{part}", part=part), versus=pair.base, part=part, part_k=pair.view.chosen.k)
        comparable(pair)
    if not len(pair.recovery) and pair.by_fact and not pair.view.filtered and pair.view.chosen.k in RECOVERED:
        blocks.missing(
            "No way back to the lost facts was looked for.", RECOVER.format(model=pair.tuned, k=pair.view.chosen.k)
        )


def list_closed() -> None:
    """Forgets what the list of lost facts showed."""
    selection.update(lost_way="", lost_relation="")


@st.dialog("Lost facts", width="large", on_dismiss=list_closed)
def lost_facts(pair: Pair) -> None:
    """The lost facts of a way and a relation,; a row opens the fact."""
    view = pair.view
    by_relation = view.read(report_outcome.relations, pair.recovery).query("lost > 0").set_index("relation")
    labels = by_relation["label"].fillna("").to_dict()
    ways = {ALL_LOST: "all", **{way: way for way in LISTED_BY}}
    with st.container(horizontal=True, gap="small"):
        way = selection.bound("lost_way", options=ways)
        kinds = {"": "all", **{name: f"{labels[name]} ({name})" for name in sorted(labels)}}
        relation = selection.bound("lost_relation", options=kinds)
    table = view.read(
        report_outcome.facts, pair.recovery["run_id"].iloc[0], LISTED_BY.get(way), (relation,) if relation else None
    )
    if table.empty:
        st.info("No lost fact has these two.", icon=":material/filter_alt_off:")
        return
    seeds = {f"after_{steps}": f"seeds that relearn it in {steps}" for steps in STEPS}

    def pick(row: int) -> None:
        fact = str(table["fact_id"].iloc[row])
        selection.open_later("facts", afresh=True, model=pair.tuned, probe_set=pair.probe_set, fact=fact)

    columns_shown = table[
        ["relation", "subject", "object", "way", "layer", "fitted", "layers_back", *seeds, "rank", "margin"]
    ]
    blocks.table_with_download(
        table,
        shown=columns_shown.assign(relation=[labels.get(name) or name for name in table["relation"]]),
        stamp=pair.stamp("lost facts"),
        name="lost-facts",
        pick=pick,
        key=f"lost-facts.{way}.{relation}",
        height=min(38 + 35 * len(table), 320),
        column_config={"way": "comes back by", "fitted": "refitted head", "layers_back": "layers put back", **seeds},
    )
    st.caption("Select a fact to see it layer by layer.")


def relations(pair: Pair) -> None:
    """Base and fine-tuned model by relation, the worst loss first."""
    view, k = pair.view, pair.view.chosen.k
    st.header("Which kinds of facts were forgotten?")
    back = view.read(report_outcome.relations, pair.recovery) if len(pair.recovery) else pd.DataFrame()
    columns = {column: way for way, column in BACK_COLUMNS.items()}
    if pair.runs is None:
        if len(back):
            blocks.table_with_download(
                back,
                shown=back[["relation", "label", "known", KEPT, "lost", *columns]],
                stamp=pair.stamp("lost facts by relation"),
                name="forgetting-relations",
                column_config=columns,
            )
        return
    table = view.report(relation_losses, pair.frame, k)
    if len(back):
        table = table.merge(back[["relation", *columns]].rename(columns=columns), on="relation", how="left")
    blocks.figure(
        drawing(
            relation_slopes,
            table,
            base=view.name(pair.base),
            model=view.label(pair.tuned),
            colours=(view.all_colours[pair.base], view.all_colours[pair.tuned]),
            k=k,
            fewest=FEWEST,
        ),
        table=table,
        stamp=pair.stamp(f"losses by relation, rank ≤ {k}"),
        name="relation-losses",
        caption=RELATIONS if table["kept"].notna().any() else RELATIONS_OF_COUNTS,
        how=RELATIONS_HOW,
        alt="Right answers by relation before and after fine-tuning, worst loss first",
        on_point=(
            None
            if not pair.by_fact
            else lambda point: go(view, relation=str(point[0]), versus=pair.base, part="lost", part_k=k)
        ),
    )


def layers(pair: Pair) -> None:
    """Both curves and their difference; what the layers answer instead; early exit."""
    view, k = pair.view, pair.view.chosen.k
    st.header("What does each layer still know?")
    if not pair.by_fact:
        blocks.note("The layers of two models are paired fact by fact, and single facts of these two are not stored.")
        return
    base, model = pair.run_ids
    table = view.report(paired_with_yardsticks, base, model, k)
    if table.empty:
        st.info("No fact was asked of both models under these filters.", icon=":material/filter_alt_off:")
        return
    widest = table.loc[table["difference"].abs().idxmax()]
    blocks.tab_sentence(
        "They lie furthest apart at layer {layer}: {model} knows {now:.0f} % of the facts, {base} {before:.0f} %.",
        layer=int(widest["layer"]),
        model=view.name(pair.tuned),
        base=view.name(pair.base),
        now=100 * widest["value"],
        before=100 * widest["base_value"],
    )
    both = table["above_swapped"].where(table["base_above_swapped"].notna())
    mode = filters.choose(view, "pair_minus", filters.undefined(table.assign(above_swapped=both), majority=k == 1))
    blocks.figure(
        drawing(
            paired_curve,
            pair_above(table, mode),
            k=k,
            base=pair.base,
            model=pair.tuned,
            colours=view.colours,
            labels=filters.labels(view),
            controls=view.controls,
        ),
        table=table,
        stamp=pair.stamp(f"P@{k}, micro, {mode}"),
        name="paired-curves",
        caption=CURVES,
        how=CURVES_HOW,
        alt="Right answers by layer of both models, and their difference",
        on_point=lambda point: go(view, model=str(point[0]), at_layer=int(point[1]), at_rank=k),
    )
    kinds = view.report(answer_drift, pair.run_ids)
    if len(kinds):
        st.header("What do they answer instead?")
        blocks.figure(
            drawing(
                answer_shares,
                kinds,
                kinds=KINDS,
                names=KIND_LABELS,
                models=(pair.base, pair.tuned),
                labels=filters.labels(view),
            ),
            table=kinds,
            stamp=pair.stamp("kinds of top-ranked tokens by layer"),
            name="answer-kinds",
            caption=ANSWERS,
            alt="Share of each kind of first answer by layer, for both models",
        )


def draw(view: View) -> None:
    if view.database is None:
        blocks.missing("No results are stored yet.", blocks.PROBE_COMMAND)
    elif pair := choose(view):
        draw_tab(pair)


@st.fragment
def draw_tab(pair: Pair) -> None:
    sentence_place = st.container()
    with selection.open_tab("compare_tab", TABS, pair.view.page) as tab:
        if tab == "relations":
            if words := first_view(pair):
                with sentence_place:
                    blocks.sentence(words)
                    of_file(pair)
            below(pair)
            relations(pair)
        elif tab == "layers":
            layers(pair)
        else:
            drawn: dict[str, Callable[[Any, str], None]] = {
                "carried": partial(draw_carried_pair, base=pair.base),
                "when": draw_when,
                "prevention": draw_prevention,
                "beyond": draw_changes,
                "models": draw_all_models,
            }
            drawn[tab](pair.view, pair.tuned)
            if tab == "when":
                draw_savings(pair.view, pair.tuned, pair.probe_set, pair.view.chosen.k)
    if selection.of(CompareSelection).lost_way and len(pair.recovery):
        lost_facts(pair)


question = "What did fine-tuning forget, and does it come back?"
show("compare", "Compare models", question, draw, needs_results=False)
