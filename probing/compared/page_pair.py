"""The two models that are compared: which they are, on which facts, and whether they can be compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from probing.choices import CompareSelection
from probing.facts.page_clearest import clearest
from probing.facts.runs import Check, badge, differences, stored_comparability
from probing.forgetting.report_outcome import stored_runs
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.frame import View, counts_only
from probing.kernel.app.texts import Markdown, filled, joined, mark_key
from probing.kernel.figures.looks import set_name, set_order
from probing.kernel.models.names import LOGIT_LENS, head_order
from probing.kernel.relatives import tuned_models

#: Choices of the page's own that are forgotten when other models or facts are chosen.
NO_LIST = {"lost_way": "", "lost_relation": ""}


@dataclass(frozen=True)
class Pair:
    """Two models, and the run of each on the same facts; None if they were not asked the same facts in the same way.

    ``view`` has the run of the fine-tuned model as the one that links to facts open. ``recovery`` is a row of
    ``forgetting.report_outcome.stored_runs``, or none.
    """

    view: View
    base: str
    tuned: str
    probe_set: str
    runs: tuple[pd.Series, pd.Series] | None
    checks: tuple[Check, ...]
    recovery: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """The pair as reports expect it."""
        assert self.runs is not None
        base, model = self.runs
        row = {"base_run_id": base["run_id"], "run_id": model["run_id"], "base": self.base, "model": self.tuned}
        return pd.DataFrame([row | {name: model[name] for name in ("head", "seed", "probe_set")}])

    @property
    def by_fact(self) -> bool:
        """Whether the answers of both are stored fact by fact."""
        return self.runs is not None and not any(map(counts_only, self.runs))

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Both runs, if there are."""
        return () if self.runs is None else tuple(run["run_id"] for run in self.runs)

    def stamp(self, what: str, run_ids: Sequence[str] | None = None) -> Stamp:
        """The stamp of a figure on this page, with the statement on comparability that goes into every file."""
        head = f"{self.runs[1]['head']}, " if self.runs else ""
        both = f"{self.view.label(self.tuned)} against {self.view.label(self.base)}, {head}{set_name(self.probe_set)}"
        checks_text = f"; {badge(self.checks)}" if self.checks else ""
        return self.view.stamp(
            f"{what}, {both}, {self.view.filter_words()}{checks_text}", tuple(run_ids or self.run_ids)
        )


def choose(view: View) -> Pair | None:
    """Draws the choice of two models and their facts; without a fine-tuned one, the command that makes it."""
    bases, recoveries = _bases(view), view.read(stored_runs)
    tuned = [model for model in view.all_colours if bases.get(model)]
    if not tuned:
        blocks.missing("No fine-tuned model is stored together with its base.", blocks.FINETUNE_COMMAND)
    models = [model for model in view.all_colours if model in view.colours or model in tuned]
    if len(models) < 2:
        return None
    own, chosen = selection.of(CompareSelection), selection.current()
    blocks.say_ignored(
        [name for name in (own.tuned, own.versus_model) if name and name not in (*models, *bases.values())]
    )
    followed = chosen.model if chosen.model in tuned else ""
    telling = clearest(view)
    first = next(name for name in (followed, telling, *view.telling_first(tuned), models[1]) if name in models)
    model = own.tuned if own.tuned in models else first
    its_base = bases.get(model, "")
    others = list(dict.fromkeys([*([its_base] if its_base else []), *(name for name in models if name != model)]))
    base = own.versus_model if own.versus_model in others else others[0]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="pair"):
        selection.bound(
            "tuned",
            value=model,
            options=models,
            format_func=view.label,
            help=mark_key(view.verdicts, models),
            resets={"versus_model": "", **NO_LIST},
            width=220,
        )
        rare_fields = ("versus_model", "head", "probe_set")
        with filters.bar(view, more=("k", *selection.FILTERS), own=rare_fields) as rare, rare:
            selection.bound(
                "versus_model",
                value=base,
                options=others,
                resets=NO_LIST,
                format_func=lambda name: f"{view.label(name)} (its base)" if name == its_base else view.label(name),
            )
            return _of_facts(view, base, model, recoveries)


def _bases(view: View) -> dict[str, str]:
    """Fine-tuned model -> its base, of models with results of any kind."""
    bases = view.read(tuned_models).set_index("model")["base"].to_dict()
    for table in (view.runs, view.models):
        if table is not None and len(table):
            # Empty, or None, of a base.
            tuned = table[table["base"].fillna("") != ""]
            bases |= dict(zip(tuned["model"], tuned["base"], strict=True))
    return bases


def _of_facts(view: View, base: str, model: str, recoveries: pd.DataFrame) -> Pair:
    """Draws the choice of head and facts; returns the pair."""
    chosen, k = selection.current(), view.chosen.k
    recoveries = recoveries[(recoveries["model"] == model) & (recoveries["base"] == base)]
    common, of_model, against = pd.DataFrame(), view.runs, view.runs
    if len(view.runs):
        of_model, against = (view.runs[view.runs["model"] == name] for name in (model, base))
        common = of_model.merge(against[["head", "probe_set"]], on=["head", "probe_set"])
    if common.empty:
        recovered = recoveries[recoveries["k"] == k]
        recovered = recovered[
            recovered["probe_set"] == (chosen.probe_set or next(iter(recovered["probe_set"]), ""))
        ].head(1)
        return Pair(view, base, model, next(iter(recovered["probe_set"]), ""), None, (), recovered)
    whole = set(of_model.loc[~of_model["counted"].astype(bool), "head"]) | ({LOGIT_LENS} if len(recoveries) else set())
    heads = sorted(common["head"].unique(), key=lambda name: (name not in whole, head_order(name)))
    head = chosen.head if chosen.head in heads else heads[0]
    sets = sorted(common.loc[common["head"] == head, "probe_set"].unique(), key=lambda name: (set_order(name), name))
    probe_set = chosen.probe_set if chosen.probe_set in sets else sets[0]
    selection.bound("head", value=head, options=heads, resets=NO_LIST)
    selection.bound("probe_set", value=probe_set, options=sets, resets=NO_LIST)
    first, second = (
        table[(table["head"] == head) & (table["probe_set"] == probe_set)].iloc[0] for table in (against, of_model)
    )
    checks = view.read(stored_comparability, first["run_id"], second["run_id"])
    here = replace(view, chosen=replace(view.chosen, model=model, head=head, probe_set=probe_set))
    # Lost facts were asked through the head of the base, all of them.
    lost_were_asked = not view.filtered and head == (LOGIT_LENS if LOGIT_LENS in heads else heads[0])
    recovered = recoveries[(recoveries["probe_set"] == probe_set) & (recoveries["k"] == k)].head(
        1 if lost_were_asked else 0
    )
    return Pair(
        here,
        base,
        model,
        probe_set,
        (first, second),
        tuple(replace(check, words=view.labelled(check.words)) for check in checks),
        recovered,
    )


def comparable(pair: Pair) -> None:
    """Whether the two can be compared, and which of their settings differ; behind a button."""
    if pair.runs is None:
        return
    unlike = any(not check.same for check in pair.checks if check.name != "control")
    with st.popover("Comparable?", icon=":material/balance:" if not unlike else ":material/warning:", type="tertiary"):
        lines = [
            filled("- **{mark} {name}**: {words}", mark="✓" if check.same else "≠", name=check.name, words=check.words)
            for check in pair.checks
        ]
        table = differences(*(run.to_dict() for run in pair.runs))
        lines += [
            filled("- {name}: {first} → {second}", name=row.name, first=str(row.first), second=str(row.second))
            for row in table.itertuples(index=False)
        ]
        st.markdown(joined("\n", lines or [Markdown("No setting differs.")]))
