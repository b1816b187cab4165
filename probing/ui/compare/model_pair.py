"""The compare page's two models: which they are, whether they can be compared, and their curves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from probing.core.head_kinds import HEADS
from probing.figures.knowledge.paired_curve import p_words, paired_curve
from probing.figures.shown_runs import set_name, set_order
from probing.figures.yardsticks import MODES, pair_above
from probing.reports.comparability import Check, badge, comparability, differences, stored_comparability
from probing.reports.knowledge.pairs.yardsticks import paired_with_yardsticks
from probing.reports.wider import wider
from probing.ui.compare.selection import CompareSelection
from probing.ui.frame import facts_link, selection, yardsticks
from probing.ui.frame.count_messages import counts_only
from probing.ui.frame.page import View
from probing.ui.widgets import blocks, cards
from probing.ui.widgets.cards import Card
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, count, escape, filled, joined
from probing.ui.widgets.task_marks import marks_once


@dataclass(frozen=True)
class Pair:
    """Two runs with the same head and probe set.

    Attributes:
        base: the run compared with; a row of ``runs``.
        model: the other.
        checks: what is alike in the two, and what is not.
        options: where the page's choices are drawn.
    """

    base: pd.Series
    model: pd.Series
    checks: tuple[Check, ...]
    options: DeltaGenerator

    @property
    def frame(self) -> pd.DataFrame:
        """The pair as ``probing.reports`` expects it."""
        row = {"base_run_id": self.base["run_id"], "run_id": self.model["run_id"], "base": self.base["model"], "model": self.model["model"]}
        return pd.DataFrame([row | {name: self.model[name] for name in ("head", "seed", "probe_set")}])

    @property
    def by_fact(self) -> bool:
        """Whether the answers of both are stored fact by fact."""
        return not any(map(counts_only, (self.base, self.model)))

    @property
    def run_ids(self) -> tuple[str, str]:
        """Both runs."""
        return self.base["run_id"], self.model["run_id"]

    def stamp(self, view: View, what: str, run_ids: tuple[str, ...] | None = None) -> Stamp:
        """The stamp of a figure on this page, with the statement on comparability that goes into every file."""
        names = f"{view.label(self.model['model'])} against {view.label(self.base['model'])}"
        both = f"{names}, {self.model['head']}, {set_name(self.model['probe_set'])}"
        return view.stamp(f"{what}, {both}, {view.filter_words()}; {badge(self.checks)}", run_ids or self.run_ids)


def family_stamp(view: View, pair: Pair, together: pd.DataFrame, what: str) -> Stamp:
    """The stamp of a figure of all fine-tuned models, each against its own base, with a statement on each pair's comparability.

    Args:
        view: the page.
        pair: the chosen two; gives head, probe set and control.
        together: base_run_id, run_id and model of all pairs.
        what: what is shown.
    """
    wanted = view.runs[view.runs["run_id"].isin({*together["base_run_id"], *together["run_id"]})]
    runs, said = {row["run_id"]: row for row in wanted.to_dict("records")}, dict[str, list[str]]()
    for one in together.itertuples():
        checks = comparability(runs[one.base_run_id], runs[one.run_id])
        said.setdefault(badge([check for check in checks if check.name != "control"]), []).append(view.label(one.model))
    words = [text if len(said) == 1 else f"{', '.join(models)}: {text}" for text, models in said.items()]
    words += [f"control: {check.words}" for check in pair.checks if check.name == "control"]
    where = f"all models against their bases, {pair.model['head']}, {set_name(pair.model['probe_set'])}, {view.filter_words()}"
    return view.stamp(f"{what}, {where}; {'; '.join(words)}", tuple(dict.fromkeys((*together["base_run_id"], *together["run_id"]))))


def fine_tuned(view: View) -> list[str]:
    """Models whose base is stored too, in the order of their colours."""
    bases, models = view.runs.drop_duplicates("model").set_index("model")["base"].fillna(""), view.colours
    return [model for model in models if bases[model] in models]


def choose(view: View) -> Pair | None:
    """Draws the choice of the two models; if there are no two to compare, explains why and returns None."""
    models, tuned = list(view.colours), fine_tuned(view)
    if not tuned:
        blocks.missing("No fine-tuned model is stored together with its base.", blocks.FINETUNE_COMMAND)
        st.caption("Then probe it with the same heads and facts as its base.")
        if len(models) < 2:
            return None
    chosen, own = selection.current(), selection.of(CompareSelection)
    blocks.say_ignored([name for name in (own.tuned, own.versus_model) if name and name not in models])
    wish = chosen.model if chosen.model in tuned else (view.telling_first(tuned) or models[1:])[0]
    model = own.tuned if own.tuned in models else wish
    its_base = view.runs.loc[view.runs["model"] == model, "base"].iloc[0] or ""
    others = [name for name in models if name != model]
    versus = next(name for name in (own.versus_model, its_base, others[0]) if name in others)
    runs, against = view.runs[view.runs["model"] == model], view.runs[view.runs["model"] == versus]
    common = runs.merge(against[["head", "probe_set"]], on=["head", "probe_set"])
    names = f"{view.label(model)} against {view.label(versus)}"
    options = st.popover(escape(names), icon=":material/tune:")
    with options:
        selection.bound(
            st.selectbox, "Model", "tuned", view.page, value=model, options=models, resets={"versus_model": ""}, format_func=view.label
        )
    with options:
        selection.bound(
            st.selectbox,
            "compared with",
            "versus_model",
            view.page,
            value=versus,
            options=others,
            format_func=lambda name: f"{view.label(name)} (its base)" if name == its_base else view.label(name),
        )
    if common.empty:
        st.info(
            filled(
                "{model} and {versus} were not probed with the same heads on the same facts.",
                model=view.called(model),
                versus=view.called(versus),
            ),
            icon=":material/info:",
        )
        return None
    by_fact = set(runs.loc[~runs["counted"].astype(bool), "head"])
    heads = sorted(common["head"].unique(), key=lambda name: (name not in by_fact, (*HEADS, name).index(name)))
    head = chosen.head if chosen.head in heads else heads[0]
    sets = sorted(common.loc[common["head"] == head, "probe_set"].unique(), key=lambda name: (set_order(name), name))
    probe_set = chosen.probe_set if chosen.probe_set in sets else sets[0]
    with options:
        selection.bound(st.selectbox, "Head", "head", view.page, value=head, options=heads)
        selection.bound(st.selectbox, "Probe set", "probe_set", view.page, value=probe_set, options=sets, format_func=set_name)
        selection.known_rank(view.page)
    here = [table[(table["head"] == head) & (table["probe_set"] == probe_set)].iloc[0] for table in (against, runs)]
    checks = view.read(stored_comparability, *(one["run_id"] for one in here))
    return Pair(here[0], here[1], tuple(replace(one, words=view.labelled(one.words)) for one in checks), options)


def of_pair(view: View, pair: Pair) -> View:
    """The view with the pair's model as the one whose facts links lead to."""
    run = pair.model
    return replace(view, chosen=replace(view.chosen, model=run["model"], head=run["head"], probe_set=run["probe_set"]))


_WHAT = (
    "Two models, the same facts, the same kind of heads. Fine-tuning starts from a model's weights and trains it on a task. The heads may "
    "still predict a fact that the base knew at the last layer, only at an inner one, or at none."
)


def draw_badge(view: View, pair: Pair) -> None:
    """Whether the two can be compared, and which of their settings differ."""
    badges = (
        filled(":{colour}-badge[{mark} {name}]", colour="green" if one.same else "orange", mark="✓" if one.same else "≠", name=one.name)
        for one in pair.checks
    )
    st.markdown(filled("**Comparable?** {badges}", badges=joined(" ", badges)))
    with st.popover("What is alike, and what differs", icon=":material/balance:"):
        lines = (
            filled("- **{mark} {name}**: {words}", mark="✓" if check.same else "≠", name=check.name, words=check.words)
            for check in pair.checks
        )
        st.markdown(joined("\n", lines))
        table = differences(pair.base.to_dict(), pair.model.to_dict())
        if len(table):
            st.markdown("Settings that differ:")
            shown = table.rename(
                columns={"name": "setting", "first": view.label(pair.base["model"]), "second": view.label(pair.model["model"])}
            ).astype(str)
            blocks.table_with_download(shown, stamp=pair.stamp(view, "configuration differences"), name="differences")
        else:
            st.markdown("No setting differs.")


def draw_curves(view: View, pair: Pair) -> None:
    """Both curves by layer and their paired difference."""
    k, (base, model) = view.chosen.k, (pair.base["model"], pair.model["model"])
    said = st.container()
    table = view.report(paired_with_yardsticks, *pair.run_ids, k)
    if table.empty:
        st.info("No fact was asked of both models under these filters.", icon=":material/filter_alt_off:")
        return
    deepest = wider(table).iloc[-1].to_dict()
    who = {"model": view.called(model), "base": view.called(base)}
    again = {"model": yardsticks.again(view, model), "base": yardsticks.again(view, base)}
    lead = filled(
        "At its last layer {model} knows **{value:.1f} %** of the facts{again}, {base} **{base_value:.1f} %**{mean}.{majority}{shuffled}",
        **who,
        value=deepest["value"] * 100,
        base_value=deepest["base_value"] * 100,
        shuffled=filled(" A control that was trained as long on shuffled labels knows **{share:.1f} %**.", share=deepest["shuffled"] * 100)
        if pd.notna(deepest["shuffled"])
        else Markdown(""),
        mean=yardsticks.averaged("micro"),
        again=_again(deepest),
        majority=filled(" Always giving the relation's commonest answer is right for **{share:.1f} %**.", share=deepest["majority"] * 100)
        if pd.notna(deepest["majority"])
        else Markdown(""),
    )
    more = filled(
        "At layer {layer}, {model} knows **{value:.1f} %** and {base} **{base_value:.1f} %** of the same {n:,} facts{mean}: a "
        "difference of **{difference:+.1f} points** ({low:+.1f} to {high:+.1f}), McNemar p {p}.",
        **who,
        layer=int(deepest["layer"]),
        value=deepest["value"] * 100,
        base_value=deepest["base_value"] * 100,
        n=int(deepest["n"]),
        difference=deepest["difference"] * 100,
        low=deepest["difference_low"] * 100,
        high=deepest["difference_high"] * 100,
        p=p_words(deepest["p_value"]),
        mean=yardsticks.averaged("micro"),
    )
    with said:
        answer(lead)
        yardsticks.say_size(table, pair.model["probe_set"])
    with pair.options:
        mode = yardsticks.choose(view, "pair_minus", _undefined(table, k))
    labels = yardsticks.labels(view)
    drawn = drawing(
        paired_curve, pair_above(table, mode), k=k, base=base, model=model, colours=view.colours, labels=labels, controls=view.controls
    )
    minus = f" minus {MODES[mode]}" if MODES[mode] else ""
    blocks.figure(
        drawn,
        table=table,
        stamp=pair.stamp(view, f"P@{k}{minus}, micro"),
        name="paired-curves",
        caption=f"Above: both models on the facts that both were asked. {_above(deepest, mode)} {_BELOW[mode]} "
        f"Bands are 95 % intervals. Filled diamonds: {_SURE[mode]}. {_of_shuffled(table)}{_of_again(table)}Click a point to open "
        f"its facts. {marks_once(view, (base, model))}",
        alt=f"P@{k}{minus} by layer of {labels[model]} and {labels[base]}, and their difference",
        on_point=lambda point: facts_link.go(of_pair(view, pair), model=str(point[0]), at_layer=int(point[1]), at_rank=k),
    )
    view.introduce()
    cards.draw(_cards(wider(table)))
    with blocks.in_words(Markdown(_WHAT), joined(" ", [more, beside_both(deepest, again), loss_minus_swapped(deepest)])):
        draw_badge(view, pair)


_DIFFERENCE = (
    "difference",
    "Difference, last layer",
    "Share of the same facts that each knows, first minus second, fact by fact; 95 % interval.",
)
_MORE = ("more", "Minus the swapped subject", "How much more the first gains from the subject than the second; 95 % interval.")


def _cards(table: pd.DataFrame) -> list[Card]:
    """The difference at the last layer, over all facts and, if it is defined, minus the swapped subject."""
    found = [cards.of_points(table, *_DIFFERENCE)]
    return found if pd.isna(table["more"].iloc[-1]) else [*found, cards.of_points(table, *_MORE)]


def _of_shuffled(table: pd.DataFrame) -> str:
    """What the control with shuffled labels is, if the figure has one."""
    there = table["shuffled"].notna().any()
    return "Shuffled labels: after as many steps of the same task on labels that say nothing. " if there else ""


def _again(row: Mapping[str, Any]) -> Markdown:
    """What other trainings of the same task know, as an interval; empty if none is stored."""
    n = int(row["again_n"])
    if not n or pd.isna(row["again_low"]):
        return Markdown("")
    low, high = (100 * row[f"again_{end}"] for end in ("low", "high"))
    return filled(" ({others}: {low:.1f} to {high:.1f} %)", others=count(n, "other training"), low=low, high=high)


def _of_again(table: pd.DataFrame) -> str:
    """What the thin lines are, if the figure has them."""
    n = int(table["again_n"].iloc[0])
    return f"Thin lines: least and most of {count(n, 'other training')} of the same base for the same task. " if n else ""


def _undefined(table: pd.DataFrame, k: int) -> dict[str, str]:
    """The modes that are undefined for the pair; both models need a swapped subject for their difference."""
    both = table["above_swapped"].where(table["base_above_swapped"].notna())
    return yardsticks.undefined(table.assign(above_swapped=both), majority=k == 1)


_BELOW = {
    "value": "Below: the first minus the second, paired fact by fact.",
    "majority": "Below: the first minus the second, paired fact by fact.",
    "swapped": "Below: how much more the first gains from the subject than the second.",
}
_SURE = {
    "value": "exact McNemar p ≤ 0.05 per layer, not corrected for multiple testing",
    "majority": "exact McNemar p ≤ 0.05 per layer, not corrected for multiple testing",
    "swapped": "the interval, which treats the two models as independent, excludes 0",
}


def _above(row: Mapping[str, Any], mode: str) -> str:
    """The upper panel's yardsticks, in words."""
    sides = [(int(row[f"{one}swapped_n"]), int(row["n"])) for one in ("", "base_") if pd.notna(row[f"{one}swapped"])]
    of = " and ".join(f"{with_one:,} of {n:,} facts" for with_one, n in dict.fromkeys(sides))
    if mode == "swapped":
        return f"The zero line: the same model asked about a swapped subject. Only facts that have one count: {of}."
    if mode == "majority":
        return "The zero line: always giving the relation's most frequent answer."
    majority = "Grey, dashed: always giving the relation's most frequent answer. " if pd.notna(row["majority"]) else ""
    return majority + (f"Dotted: the swapped subject, on the {of} that have one." if of else "Swapped subject: not measured here.")


def beside_both(row: Mapping[str, Any], called: Mapping[str, Markdown]) -> Markdown:
    """What the majority answer and both models' swapped subjects give, if they are defined.

    Args:
        row: of ``paired_with_yardsticks``.
        called: the two models, under ``model`` and ``base``.
    """
    words = []
    if pd.notna(row["majority"]):
        words.append(
            filled("Always giving the relation's commonest answer would be right for **{share:.1f} %**.", share=row["majority"] * 100)
        )
    sides = {"": called["model"], "base_": called["base"]}
    words.append(swapped_of(row, sides, lambda share, _: filled("{share:.1f} %", share=share * 100)))
    return joined(" ", [one for one in words if one])


def swapped_of(row: Mapping[str, Any], sides: Mapping[str, Markdown], number: Callable[[float, int], Markdown]) -> Markdown:
    """What both models give for a swapped subject and for the facts' own; empty if it is measured for neither.

    Args:
        row: of ``paired_with_yardsticks``.
        sides: prefix of a model's columns -> its name; the order of the sentence.
        number: writes a share, given the number of facts that it is of.
    """
    sizes = {prefix: int(row[f"{prefix}swapped_n"]) for prefix in sides if pd.notna(row[f"{prefix}swapped"])}
    if not sizes:
        return Markdown("")
    given = {name: [number(row[f"{prefix}{name}"], n) for prefix, n in sizes.items()] for name in ("swapped", "matched")}
    called = [filled("{who} still gives" if not place else "{who}", who=sides[prefix]) for place, prefix in enumerate(sizes)]
    still = (filled("{who} **{given}**", who=who, given=one) for who, one in zip(called, given["swapped"], strict=True))
    return filled(
        "Asked about a **swapped subject**, {still} of the {n} facts that have one; asked about their own, {matched}.",
        still=joined(" and ", still),
        n=" and ".join(f"{n:,}" for n in dict.fromkeys(sizes.values())),
        matched=joined(" and ", given["matched"]),
    )


def loss_minus_swapped(row: Mapping[str, Any]) -> Markdown:
    """The model's loss of P@k minus the swapped subject; empty if it is undefined.

    Args:
        row: of ``paired_with_yardsticks``.
    """
    if pd.isna(row["more"]):
        return Markdown("")
    return filled(
        "Minus the swapped subject the loss is **{lost:.1f} points** ({low:.1f} to {high:.1f}){there}; over all facts it is {all:.1f}.",
        lost=-row["more"] * 100,
        low=-row["more_high"] * 100,
        high=-row["more_low"] * 100,
        all=-row["difference"] * 100,
        there=filled(
            " of {whole:.1f} on the {n:,} facts with such a subject",
            whole=(row["base_matched"] - row["matched"]) * 100,
            n=int(row["swapped_n"]),
        )
        if row["swapped_n"] == row["base_swapped_n"]
        else Markdown(""),
    )
