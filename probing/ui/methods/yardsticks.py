"""The yardsticks of knowledge: guessing without a subject, guessing among answers, and the null of total knowledge."""

import math

import pandas as pd
import streamlit as st

from probing.core.stats.baselines import may_be_shown
from probing.figures.knowledge.paired_curve import p_words
from probing.figures.shown_runs import set_name
from probing.reports.knowledge.precision import by_layer
from probing.reports.knowledge.total import total
from probing.reports.shown_baselines import shown_baselines
from probing.store.knowledge.one_fact import null_examples
from probing.ui.frame import yardsticks
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, filled, joined

YARDSTICKS = """
A share of facts means little alone: relations have favourite answers, and a subject can give its answer away. Three yardsticks show
how far guessing gets.

- **Majority answer**: the share of facts for which the relation's most frequent object is right. It is the yardstick of P@1 and P@1 among
  answers. It is undefined for P@10 and P@100, since it is one answer, not ten tries.
- **Swapped subject**: the share of facts whose right answer has rank ≤ k when the model is asked about another subject of the relation,
  one that does not have it among its recorded answers. It is the yardstick of P@k. It is undefined if every other subject has the answer,
  if a probe set has no templates, and if a run did not measure it.
- **Chance among answers**: the mean of 1 / number of the relation's different answers. It is the yardstick of P@1 among answers. It is
  undefined for metrics of the whole vocabulary.

**Minus majority** is the value minus the majority answer. Its 95 % interval is that of the value, because the majority answer is a
property of the facts and does not vary.

**Minus swapped** compares the same facts on both sides. Facts without a swapped subject are left out, and *matched* is the value on the
remaining facts. The difference is matched minus swapped. Its 95 % interval is paired: Newcombe's for micro and for a single relation, a
normal one over relations for macro. A model that knows everything has a swapped share near 0. A model that ignores the subject has a
difference near 0.
"""

NULL = """
## The null of total knowledge

**Total knowledge** counts a fact as known if *any* layer 1 to L has its answer at rank ≤ k. Such a union grows by chance alone. Every
layer is one more try with other favourite answers, and a try can hit the right answer without regard to the subject. It can equally hit
an answer that the subject does not have, and these hits can be counted.

The **null** takes the facts that the last layer misses with both prompts (their own subject and the swapped one). It compares the share
for which some inner layer 1 to L-1 has rank ≤ k with their own subject to the same share with the swapped subject. The exact McNemar test
is applied to these pairs. Only the excess with their own subject is knowledge that the last layer lost. The union over re-trained heads
of the last layer, if they were trained, is a weaker control.
"""


def draw(view: View) -> None:
    """Draws the yardsticks in words, and with the numbers of the chosen run."""
    st.markdown(YARDSTICKS)
    chosen = view.chosen
    run = _run(view, chosen.model, chosen.head, chosen.probe_set)
    if run is not None:
        _at_the_last_layer(view, run)
    st.markdown(NULL)
    if run is None:
        blocks.missing("No run is stored, so there is no worked example.", blocks.PROBE_COMMAND)
        return
    _worked_example(view, run)
    _totals(view, run)


def _run(view: View, model: str, head: str, probe_set: str) -> pd.Series | None:
    """The primary run of a model; None if there is none."""
    runs = view.runs
    if runs.empty:
        return None
    chosen = runs[(runs["model"] == model) & (runs["head"] == head) & (runs["probe_set"] == probe_set)]
    return None if chosen.empty else chosen.iloc[0]


def _named(view: View, run: pd.Series) -> Markdown:
    return filled("{model}, {head} heads, {facts}", model=view.called(run["model"]), head=run["head"], facts=set_name(run["probe_set"]))


def _at_the_last_layer(view: View, run: pd.Series) -> None:
    last = shown_baselines(view.read(by_layer, (run["run_id"],), "p_at_1", "macro", last_only=True))
    if last.empty:
        return
    if pd.isna(last["majority"].iloc[0]):
        st.markdown(filled("{run}: {few}", run=_named(view, run), few=yardsticks.few(last["n"].iloc[0])))
        return
    got = last.iloc[0]
    words = [
        filled(
            "*For example* {run}, last layer, macro: P@1 is {value:.1f} % and the majority answer {majority:.1f} %, a difference of "
            "{above:.1f} points (95 % interval {low:.1f} to {high:.1f}).",
            run=_named(view, run),
            value=100 * got["value"],
            majority=100 * got["majority"],
            above=100 * got["above_majority"],
            low=100 * got["above_majority_low"],
            high=100 * got["above_majority_high"],
        )
    ]
    if pd.notna(got["swapped_n"]):
        words.append(
            filled(
                "{n:,} of its {all:,} facts have a swapped subject. On these P@1 is {matched:.1f} % (matched) and {swapped:.1f} % with the "
                "swapped subject, a difference of {above:.1f} points ({low:.1f} to {high:.1f}).",
                all=got["n"],
                n=got["swapped_n"],
                matched=100 * got["matched"],
                swapped=100 * got["swapped"],
                above=100 * got["above_swapped"],
                low=100 * got["above_swapped_low"],
                high=100 * got["above_swapped_high"],
            )
        )
    else:
        words.append(Markdown("No swapped subject is measured here."))
    st.markdown(joined(" ", words))


def _worked_example(view: View, run: pd.Series) -> None:
    """Draws one fact of each kind from the chosen run, or from another run of these facts that stores ranks per fact."""
    shown, facts = run, view.read(null_examples, str(run["run_id"]))
    for model in dict.fromkeys((run["base"], *view.runs.loc[view.runs["base"] == "", "model"])):
        if len(facts):
            break
        other = _run(view, model, run["head"], run["probe_set"])
        if other is not None:
            shown, facts = other, view.read(null_examples, str(other["run_id"]))
    if facts.empty:
        st.caption(
            "There is no worked example here: either no run of these facts and this head stores ranks with the swapped subject per fact, "
            "or no fact is found by inner layers only."
        )
        return
    st.markdown(filled("### A worked example: {run}, P@1", run=_named(view, shown)))
    if shown["run_id"] != run["run_id"]:
        st.caption(filled("{model} has only counts of the swapped subject, no single facts.", model=view.called(run["model"])))
    st.markdown(
        "The last layer misses each of these facts with both prompts. Each is the first of its kind by the md5 of its id, among facts "
        "whose answer is not part of the subject."
    )
    for fact in facts.itertuples():
        st.markdown(filled("- {example}", example=_example(fact)))
    table = pd.DataFrame([row for fact in facts.itertuples() for row in _rows(fact)])
    stamp = view.stamp(f"worked example of the null, {set_name(shown['probe_set'])}, {shown['head']} heads", (str(shown["run_id"]),))
    # Without the answer and with short headings, all layers of a small model fit on a screen.
    short = {name: name.removeprefix("layer ") for name in table.columns if name.startswith("layer ")}
    blocks.table_with_download(table, stamp=stamp, name="null-example", shown=table.drop(columns="answer"), column_config=short)
    st.caption("Rank of the answer by layer, with each subject; 1 is the best.")


def _example(fact) -> Markdown:
    """A row of ``null_examples`` in words."""
    asked = filled("“{prompt}” asks for **{answer}**: {found}. ", prompt=fact.prompt, answer=fact.object, found=_found(fact.own_ranks))
    borrowed = filled("“{prompt}”: {found}", prompt=fact.swapped_prompt, found=_found(fact.swapped_ranks))
    if fact.kind == "own":
        return filled("**With its own subject only.** {asked}{borrowed}. The fact counts for inner layers.", asked=asked, borrowed=borrowed)
    if fact.kind == "swapped":
        return filled(
            "**With the swapped subject only.** {asked}{borrowed}, although that subject does not have this answer. The fact counts for "
            "chance.",
            asked=asked,
            borrowed=borrowed,
        )
    return filled(
        "**With both.** {asked}{borrowed}. The subject makes no difference, and the fact counts on both sides.",
        asked=asked,
        borrowed=borrowed,
    )


def _found(ranks: list[int]) -> str:
    layers = [layer for layer, rank in enumerate(ranks[:-1], 1) if rank <= 1]
    if not layers:
        return "no inner layer ranks it first"
    one = len(layers) == 1
    return f"layer{'' if one else 's'} {', '.join(map(str, layers))} rank{'s' if one else ''} it first"


def _rows(fact) -> list[dict]:
    """Two rows: the ranks with the own and with the swapped subject."""
    asked = (("own", fact.prompt, fact.own_ranks), ("swapped", fact.swapped_prompt, fact.swapped_ranks))
    return [
        {"answer": fact.object, "subject": side, "prompt": prompt} | {f"layer {layer}": rank for layer, rank in enumerate(ranks, 1)}
        for side, prompt, ranks in asked
    ]


def _totals(view: View, run: pd.Series) -> None:
    got = view.read(total, (run["run_id"],), (1,), ("micro",)).iloc[0]
    if pd.isna(got["inner_n"]) or not got["inner_n"] or math.isnan(got["total"]):
        st.markdown(filled("For {run} the null is not measured.", run=_named(view, run)))
        return
    own, swapped, n = int(got["inner_own"]), int(got["inner_swapped"]), int(got["inner_n"])
    st.markdown(filled("### All facts: {run}, P@1", run=_named(view, run)))
    words = [
        filled(
            "The last layer misses **{n:,}** facts with both prompts. Some inner layer ranks the answer first for **{own:,}** of them with "
            "their own subject ({own_share:.2f} %) and for **{swapped:,}** with the swapped one ({swapped_share:.2f} %). The difference is "
            "{more:,} facts (exact McNemar, p {p}).",
            n=n,
            own=own,
            swapped=swapped,
            own_share=100 * own / n,
            swapped_share=100 * swapped / n,
            more=own - swapped,
            p=p_words(got["inner_p"]),
        ),
        filled(
            "Over all facts (micro), total knowledge is {total:.1f} %, and the last layer alone reaches {last:.1f} %.",
            total=100 * got["total"],
            last=100 * got["last_layer"],
        ),
    ]
    if may_be_shown(got["n"]):
        words.append(filled("The majority answer reaches {majority:.1f} %.", majority=100 * got["majority"]))
    if 2 * swapped > own:
        words.append(Markdown("Inner layers find most of this gain without the right subject, too."))
    st.markdown(joined(" ", words))
