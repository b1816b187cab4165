"""The rows of a run that asked for lost facts."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.facts.fact import FactSet
from probing.forgetting.memory import Summary
from probing.forgetting.memory_groups import LOST, Answered, Groups
from probing.forgetting.ways import (
    ANY,
    AS_IT_IS,
    BY_ANSWER,
    BY_SUBJECT,
    FITTED_HEAD,
    LAYERS_BACK,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    STEPS,
    USUAL_STEPS,
    Tried,
)
from probing.forgetting.ways_run import ForgettingRunConfig

#: Table -> its rows.
Rows = Mapping[str, list[dict[str, Any]]]
#: In the order in which they are written: a run exists when its row does.
TABLES = ("forgetting_facts", "forgetting_relations", "forgetting_shares", "forgetting_excesses", "forgetting_runs")


def run_rows(config: ForgettingRunConfig, kept: FactSet, asked: Answered, layers: int, not_put_back: str) -> Rows:
    """The rows on the run as a whole; its own row lacks device and date.

    Args:
        config: of the run.
        kept: the facts.
        asked: what both models answer.
        layers: number of layers, layer 0 included.
        not_put_back: why no layers were put back; empty if they were.
    """
    run_id, facts = config.fingerprint, kept.facts
    known, lost = (asked.base_rank <= config.k).nonzero()[0].tolist(), asked.lost(config.k).tolist()
    of_known, of_lost = (Counter(facts[n].relation for n in numbers) for numbers in (known, lost))
    run = {
        **{
            name: getattr(config, name)
            for name in ("model", "probe_set", "template_set", "k", "seed", "seeds", "planted", "code_version")
        },
        **{name: getattr(config, name) or None for name in ("model_revision", "base", "objective", "other_templates")},
        "run_id": run_id,
        "layers": layers,
        "facts": len(facts),
        "known": len(known),
        "kept": len(known) - len(lost),
        "lost": len(lost),
        "not_put_back": not_put_back or None,
        "left_out": json.dumps(kept.left_out, sort_keys=True),
        "config": config.canonical(),
    }
    of_relations = [
        {"run_id": run_id, "relation": name, "known": n, "kept": n - of_lost[name], "lost": of_lost[name]}
        for name, n in sorted(of_known.items())
    ]
    return {"forgetting_runs": [run], "forgetting_relations": of_relations}


def summary_rows(run_id: str, found: Summary) -> Rows:
    """The rows of shares and differences."""
    shares = [
        {
            "run_id": run_id,
            "way": one.way,
            "level": one.level,
            "protocol": one.protocol,
            "asked": one.group,
            "n": one.share.n,
            "share": one.share.value,
            "low": one.share.low,
            "high": one.share.high,
        }
        for one in found.shares
    ]
    excesses = []
    for one in found.against:
        low, high = one.without or (None, None)
        each = one.difference
        excesses.append(
            {
                "run_id": run_id,
                "way": one.way,
                "level": one.level,
                "protocol": one.protocol,
                "yardstick": one.yardstick,
                "share": each.share,
                "yardstick_share": each.yardstick,
                "low": each.low,
                "high": each.high,
                "error": each.error,
                "low_without": low,
                "high_without": high,
                "n": each.n,
                "n_yardstick": each.n_yardstick,
            }
        )
    return {"forgetting_shares": shares, "forgetting_excesses": excesses}


def fact_rows(
    run_id: str,
    kept: FactSet,
    asked: Answered,
    groups: Groups,
    tried: Sequence[Tried],
    found: Summary,
    exposure: Sequence[str],
    reworded: Mapping[int, str],
) -> list[dict[str, Any]]:
    """One row per lost fact, matched never-known fact and wrong answer: how it came back.

    Args:
        run_id: of the run.
        kept: the facts.
        asked: what both models answer.
        groups: lost facts and yardsticks.
        tried: what every way brought back.
        found: the outcomes.
        exposure: (facts,) how the base's training text has each; empty if that is not known.
        reworded: number of a lost fact -> what another wording shows of it.
    """
    by = {(one.way, one.protocol): one for one in tried}
    rows = []
    for name, group in groups.of.items():
        numbers = group.facts
        base_logp, ranks, logp = asked.of(name)
        columns: dict[str, list[Any]] = {
            "fact_id": [kept.facts[n].fact_id for n in numbers],
            "relation": [kept.facts[n].relation for n in numbers],
            "answer": group.targets.tolist(),
            "layer": _first_level(by[OTHER_LAYER, AS_IT_IS], name),
            "fitted": by[FITTED_HEAD, AS_IT_IS].at(ANY, name)[0].tolist(),
            "layers_back": _first_level(by.get((LAYERS_BACK, AS_IT_IS)), name, len(numbers)),
            **{f"after_{steps}": _seeds(by[RELEARNED, BY_ANSWER], steps, name) for steps in STEPS},
            "by_subject": _seeds(by[RELEARNED, BY_SUBJECT], USUAL_STEPS, name),
            # Not rounded: equal confidence is a function of the logit, which is steep near 1.
            "base_logp": base_logp[numbers].tolist(),
            "logp": _rounded(logp[numbers]),
            "rank": ranks[numbers].tolist(),
            "margin": _rounded(asked.first_logp[numbers] - logp[numbers]),
        }
        if name == LOST:
            columns["way"] = found.outcomes
            columns["random_layer"] = by[OTHER_LAYER, RANDOM_BODY].at(ANY, name)[0].tolist()
            columns["random_body"] = by[RELEARNED, RANDOM_BODY].at(USUAL_STEPS, name)[0].tolist()
            columns["exposure"] = [exposure[n] or None if exposure else None for n in numbers]
            columns["reworded"] = [reworded.get(n) for n in numbers.tolist()]
        rows += [
            {"run_id": run_id, "asked": name, **dict(zip(columns, row, strict=True))}
            for row in zip(*columns.values(), strict=True)
        ]
    return rows


def _first_level(tried: Tried | None, group: str, size: int = 0) -> list[int | None]:
    """(answers,) the first level that brings an answer back; None where none does, or the way was not gone."""
    if tried is None:
        return [None] * size
    back: NDArray[np.bool_] = tried.back[group][0]
    return [
        None if n < 0 else int(n) for n in np.where(back.any(0), np.array(tried.levels)[back.argmax(0)], -1).tolist()
    ]


def _seeds(tried: Tried, steps: int, group: str) -> list[str]:
    """(answers,) a digit for every seed: 1 if it brings the answer back."""
    return ["".join("01"[int(whether)] for whether in seeds) for seeds in tried.at(steps, group).T.tolist()]


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return np.round(values, 3).tolist()
