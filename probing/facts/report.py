"""The reports of what models know: by layer and in total, what fine-tuning changed, and the scores of its tasks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from probing.facts import report_carried
from probing.facts.forgotten import DEFINITIONS, FATES, PARTS, fate_of, outcome_words, part_of
from probing.facts.report_any import COLUMNS as _RIGHT_ANY
from probing.facts.report_any import right_any
from probing.facts.report_forgotten import COLUMNS as FORGOTTEN_COLUMNS
from probing.facts.report_forgotten import forgotten
from probing.facts.report_layers import INNER, NUMBERS, precision, total
from probing.facts.report_pairs import (
    BESIDE,
    FACT_COLUMNS,
    listed_facts,
    named_pairs,
    transitions_beside_wrong,
)
from probing.facts.report_pairs import NUMBERS as PAIR_NUMBERS
from probing.facts.runs import NAMES, RunSelection, pairs
from probing.facts.store_facts import answers_of, commonest_answer_of_template, templates
from probing.kernel.columns import Columns
from probing.kernel.errors import OptionError
from probing.kernel.metric import RANKS
from probing.kernel.models.names import listed
from probing.kernel.options import spelled
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.kernel.stats.intervals import AVERAGES
from probing.kernel.store.database import Database
from probing.kernel.store.stored import stored_models, stored_scores
from probing.kernel.success_report import scores, without_weights

#: Outcomes that are listed if none are named: those that fine-tuning could change.
CHANGED = ("lost", "kept", "gained")
_PRECISION = Columns(NAMES, "k average layer n value low high low_answers high_answers majority swapped swapped_n")
_LAST = Columns(NAMES, "k average n last_layer")
_TOTAL = Columns(_LAST, "total", INNER)
_FORGOTTEN = FORGOTTEN_COLUMNS.without("run_id probe_set")
_OUTCOMES = Columns("base", NAMES, "k kept gained lost never p_value")
_FATES = Columns(FATES, "still_inside_share still_inside_wrong moved_share moved_wrong")
_TRANSITIONS = Columns(_OUTCOMES, _FATES)
#: Columns of each fact, without the ids of the two runs.
_FACTS = FACT_COLUMNS.without("base_run_id run_id")
_FACTS_SHOWN = Columns("probe_set head k part relation subject object base_rank rank base_answer answer fate")
_TASKS_SHOWN = Columns("model objective metric value low high baseline baseline_name n verdict")
OF_CARRIED = ("carried", "carried_lost")
_OF_FACTS = ("precision", "right_any", "total", "forgotten", "transitions", "facts")


def _selection(choice: Choice) -> RunSelection:
    """The chosen runs; relations are forgotten on T-REx if no probe set is named."""
    sets = choice["probe_set"] or (("trex",) if choice.report.name == "forgotten" else None)
    return RunSelection(choice["model"], choice["head"], sets, choice["templates"])


def chosen_runs(db: Database, choice: Choice) -> pd.DataFrame:
    """The chosen runs on facts."""
    return _selection(choice).runs(db)


def chosen_pairs(db: Database, choice: Choice) -> pd.DataFrame:
    """Pairs of the chosen fine-tuned models and their bases."""
    every = RunSelection(None, choice["head"], choice["probe_set"], choice["templates"])
    all_pairs = pairs(every.runs(db), choice["base"])
    return all_pairs[all_pairs["model"].isin(list(choice["model"]))] if choice["model"] else all_pairs


def _run_ids(db: Database, choice: Choice) -> list[str]:
    return list(chosen_runs(db, choice)["run_id"])


def _ranks(choice: Choice, usual: tuple[int, ...] = RANKS) -> tuple[int, ...]:
    """The chosen ranks, or those that the help of ``k`` names."""
    return choice["k"] or usual


def _precision(db: Database, choice: Choice) -> pd.DataFrame:
    ids, ks = _run_ids(db, choice), _ranks(choice)
    return pd.concat([precision(db, ids, ks, average) for average in choice["average"] or AVERAGES], ignore_index=True)


def _total(db: Database, choice: Choice) -> pd.DataFrame:
    return total(db, _run_ids(db, choice), _ranks(choice), choice["average"] or AVERAGES)


def _forgotten(db: Database, choice: Choice) -> pd.DataFrame:
    return forgotten(db, _run_ids(db, choice), _ranks(choice), choice["definition"] or DEFINITIONS)


def _transitions(db: Database, choice: Choice) -> pd.DataFrame:
    return transitions_beside_wrong(db, chosen_pairs(db, choice), _ranks(choice))


def _facts(db: Database, choice: Choice) -> pd.DataFrame:
    """One fine-tuned model and its base; without a kind of heads, the first that they share."""
    (model,), (base,) = choice["model"], choice["base"] or (None,)
    both = named_pairs(db, model, base, choice["head"], choice["probe_set"], choice["templates"])
    return listed_facts(db, both, _ranks(choice, (1,)), choice["part"] or CHANGED)


def _tasks(db: Database, choice: Choice) -> pd.DataFrame:
    """Scores of the chosen models, or of all but those of which only results are kept."""
    table = scores(db, choice["model"])
    return table if choice["model"] else table[~table["model"].isin(without_weights(db))].reset_index(drop=True)


def _several_sets(table: pd.DataFrame) -> bool:
    return table["probe_set"].nunique() > 1


def _one_set(table: pd.DataFrame) -> Sequence[str]:
    if _several_sets(table):
        raise OptionError(
            f"the JSON of forgotten does not contain the probe set; choose one with {spelled('probe_set')}"
        )
    return _FORGOTTEN


def _with_set(table: pd.DataFrame) -> Sequence[str]:
    return (*_FORGOTTEN, "probe_set") if _several_sets(table) else _FORGOTTEN


def _refuse(db: Database, choice: Choice) -> None:
    if choice.report.name in OF_CARRIED:
        report_carried.refuse(db, choice)
        return
    if choice.report.name == "tasks":
        # Some models have a score without a run on facts.
        refuse_unstored(
            "runs or task scores", choice, {"model": sorted({*stored_models(db)["model"], *stored_scores(db)["model"]})}
        )
        return
    RunSelection(choice["model"], choice["head"], choice["probe_set"], choice["templates"]).refuse_unknown(
        db, choice["base"]
    )


def _hint(db: Database, choice: Choice) -> str:
    if choice.report.name in ("tasks", *OF_CARRIED):
        return ""
    chosen, others = choice["templates"], ", ".join(_selection(choice).other_templates(db))
    return (
        others
        and f"no run of this selection has {spelled('templates', chosen)};"
        f" there are runs with {spelled('templates', others)}"
    )


FACTS = Reports(
    "facts",
    (
        Report(
            "precision",
            "by layer",
            _precision,
            _PRECISION,
            shown=_PRECISION.without("low_answers high_answers majority swapped_n"),
            csv=Columns(_PRECISION, NUMBERS.without(_PRECISION)),
        ),
        Report(
            "right_any",
            "questions with several right answers",
            lambda db, choice: right_any(db, _run_ids(db, choice)),
            _RIGHT_ANY,
            shown=_RIGHT_ANY,
            csv=_RIGHT_ANY,
        ),
        Report(
            "total",
            "of the last and of any layer",
            _total,
            _TOTAL,
            shown=Columns(_LAST, "last_low last_high total total_low total_high", INNER),
            csv=Columns(
                *(_TOTAL, "last_low last_high last_low_answers last_high_answers total_low total_high"),
                "intermediate_share seeds seed_union majority matched_last swapped_last",
            ),
        ),
        Report("forgotten", "relations", _forgotten, _one_set, shown=_with_set, csv=(*_FORGOTTEN, "probe_set")),
        Report(
            "transitions",
            "base to fine-tuned",
            _transitions,
            _TRANSITIONS,
            shown=Columns(_OUTCOMES, "difference low high", _FATES),
            csv=Columns(_TRANSITIONS, Columns(PAIR_NUMBERS, BESIDE).without(_TRANSITIONS)),
        ),
        Report(
            "facts",
            "kept, gained, lost",
            _facts,
            _FACTS,
            shown=_FACTS_SHOWN,
            csv=_FACTS,
            needs=("model",),
            empty="no rows: none of the facts that both models were asked",
        ),
        Report(
            "carried",
            "whether the model goes by what a layer shows",
            lambda db, choice: report_carried.by_layer(db, list(report_carried.chosen(db, choice)["run_id"])),
            report_carried.COLUMNS,
            shown=Columns(NAMES, "part measure layer n value low high null above_null above_low above_high"),
        ),
        Report(
            "carried_lost",
            "of the facts that fine-tuning lost, what layers read and what is carried",
            lambda db, choice: report_carried.lost(db, list(report_carried.chosen(db, choice)["run_id"])),
            report_carried.LOST_COLUMNS,
            shown=report_carried.LOST_COLUMNS.without("run_id"),
        ),
        Report("tasks", "scores", _tasks, shown=_TASKS_SHOWN),
    ),
    (
        Filter(
            "model",
            "Model; repeatable. None: all; for tasks: all but those of which only results are kept. For transitions and"
            " facts: the fine-tuned one.",
        ),
        Filter("head", f"{listed()}; repeatable. None: all.", only=_OF_FACTS),
        Filter(
            "probe_set",
            "trex, google_re, ...; repeatable. None: all, except for forgotten relations: trex.",
            only=(*_OF_FACTS, *OF_CARRIED),
        ),
        Filter("k", "1, 10 or 100; repeatable. None: all, for facts 1.", int, RANKS, only=_OF_FACTS),
        Filter(
            "average",
            "Mean over relations (macro), over facts (micro), or both. For precision and total.",
            known=AVERAGES,
            every="both",
            once=True,
            only=_OF_FACTS,
        ),
        Filter(
            "definition",
            f"{', '.join(DEFINITIONS)}; for forgotten; repeatable. None: all.",
            known=DEFINITIONS,
            only=_OF_FACTS,
        ),
        Filter(
            "templates", "Template set of the prompts.", usual="default", single=True, only=(*_OF_FACTS, *OF_CARRIED)
        ),
        Filter(
            "base",
            "For transitions and facts: the model to compare with. None: the model's base.",
            once=True,
            only=("transitions", "facts"),
        ),
        Filter(
            "part",
            known=PARTS,
            only=("facts",),
            switches={
                "lost": "For facts: those that only the base knows at its last layer.",
                "kept": "For facts: those that both know.",
                "gained": "For facts: those that only the fine-tuned model knows.",
            },
        ),
    ),
    _refuse,
    usual=False,
    hint=_hint,
)


COLUMNS = Columns("model outcome rank best_rank best_layer known_at")


def fates(before: Sequence[int], after: Mapping[str, Sequence[int]], k: int = 1) -> pd.DataFrame:
    """The outcome of a fact by model, from the ranks of the right answer at layers 0 to L of the base and of each
    model.

    ``outcome`` is in words, of a lost fact its fate; ``best_rank`` is of the layers from 1 on, first reached at
    ``best_layer``; ``known_at`` has the layers with rank 1.
    """
    rows = []
    for model, ranks in after.items():
        part = part_of(before[-1], ranks[-1], k)
        outcome = f"lost: {outcome_words(fate_of(before, ranks))}" if part == "lost" else part
        best = min(ranks[1:])
        known = ", ".join(str(layer) for layer, rank in enumerate(ranks) if layer and rank == 1)
        rows.append((model, outcome, ranks[-1], best, 1 + list(ranks[1:]).index(best), known))
    return COLUMNS.frame(rows)


@dataclass(frozen=True)
class Stored:
    """A sentence that is stored, or that has a stored template; then it has no recorded answers.

    ``majority`` is the most frequent of the relation's recorded answers, of equally frequent ones the first by label;
    it is right for ``share`` of the relation's ``n`` stored facts.
    """

    probe_set: str
    label: str
    answers: tuple[str, ...]
    majority: str
    share: float
    n: int


def asked(db: Database, prompt: str) -> Stored | None:
    """Stored information on a sentence with the gap ``[MASK]``, whatever its case and spaces; None if neither it nor
    its template is stored.
    """
    prompt = " ".join(prompt.split())
    fitting = answers_of(db, prompt)
    if fitting.empty:
        known = templates(db)
        fits = known[[_fits(template, prompt) for template in known["template"]]] if len(known) else known
        # "[X] is in [Y]." matches many sentences; the most specific template wins.
        fitting = fits.sort_values("template", key=lambda texts: -texts.str.len(), kind="stable")
    if fitting.empty:
        return None
    first = fitting.iloc[0]
    key = (str(first["probe_set"]), str(first["relation"]), str(first["template_set"]))
    of_relation = fitting[
        (fitting["probe_set"] == key[0]) & (fitting["relation"] == key[1]) & (fitting["template_set"] == key[2])
    ]
    (most,) = commonest_answer_of_template(db, *key).itertuples()
    answers = tuple(dict.fromkeys(of_relation["object"])) if "object" in of_relation else ()
    return Stored(key[0], str(first["label"]), answers, str(most.object), int(most.hits) / int(most.n), int(most.n))


def _fits(template: str, prompt: str) -> bool:
    """Whether a sentence is the template with some subject."""
    parts = [re.escape(" ".join(part.split())) for part in re.split(r"\s*\[X\]\s*", template.replace("[Y]", "[MASK]"))]
    return re.fullmatch(r"\s?(?:(?!\[MASK\]).)+\s?".join(parts), prompt, re.IGNORECASE) is not None
