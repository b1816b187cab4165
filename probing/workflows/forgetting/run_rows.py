"""The rows of a run that asked for lost facts."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from probing.core.facts.fact import FactSet
from probing.core.forgetting.groups import Answered
from probing.core.forgetting.run import ForgettingRunConfig
from probing.core.forgetting.summary import Summary
from probing.store.tables.forgetting import ALL_BINS

#: Table -> its rows.
Rows = Mapping[str, list[dict[str, Any]]]
#: In the order in which they are written: a run exists when its row does.
TABLES = ("forgetting_facts", "forgetting_relations", "forgetting_shares", "forgetting_excesses", "forgetting_runs")


def rows_of(config: ForgettingRunConfig, kept: FactSet, asked: Answered, found: Summary, exposure: Sequence[str], layers: int) -> Rows:
    """The rows of all tables; the run's row lacks device and date.

    Args:
        config: of the run.
        kept: the facts, which the numbers in ``found`` point to.
        asked: what both models answer.
        found: how each lost fact comes back, shares and excesses.
        exposure: (facts,) how the base's training text states each; empty if that is not known.
        layers: number of layers, layer 0 included.
    """
    run_id, facts = config.fingerprint, kept.facts
    known, lost = (asked.base_rank <= config.k).nonzero()[0].tolist(), asked.lost(config.k).tolist()
    of_known, of_lost = (Counter(facts[n].relation for n in numbers) for numbers in (known, lost))
    run = {
        **{name: getattr(config, name) for name in ("model", "probe_set", "template_set", "k", "seed", "seeds", "folds", "code_version")},
        **{name: getattr(config, name) or None for name in ("model_revision", "base", "objective")},
        "run_id": run_id,
        "layers": layers,
        "facts": len(facts),
        "known": len(known),
        "kept": len(known) - len(lost),
        "lost": len(lost),
        "left_out": json.dumps(kept.left_out, sort_keys=True),
        "config": config.canonical(),
    }
    return {
        "forgetting_runs": [run],
        "forgetting_relations": [
            {"run_id": run_id, "relation": name, "known": n, "kept": n - of_lost[name], "lost": of_lost[name]}
            for name, n in sorted(of_known.items())
        ],
        "forgetting_facts": [
            {
                "run_id": run_id, "fact_id": facts[one.fact].fact_id, "relation": facts[one.fact].relation, "way": one.way,
                "layer": one.layer, "fitted": one.fitted, "layers_back": one.layers_back, "steps": one.steps, "seeds_back": one.seeds,
                "bin": one.bin, "exposure": (exposure[one.fact] if exposure else "") or None,
            }
            for one in found.facts
        ],
        "forgetting_shares": [
            {
                "run_id": run_id, "way": one.way, "level": one.level, "protocol": one.protocol, "asked": one.group,
                "bin": ALL_BINS if one.share.bin is None else one.share.bin, "n": one.share.n, "share": one.share.value,
                "low": one.share.low, "high": one.share.high,
            }
            for one in found.shares
        ],
        "forgetting_excesses": [
            {
                "run_id": run_id, "way": one.way, "level": one.level, "protocol": one.protocol, "yardstick": one.yardstick,
                "relation": one.relation, "share": one.excess.share, "yardstick_share": one.excess.yardstick, "low": one.excess.low,
                "high": one.excess.high, "n": one.excess.n, "n_yardstick": one.excess.n_yardstick,
            }
            for one in found.excesses
        ],
    }  # fmt: skip
