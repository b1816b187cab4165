"""The runs that ask for facts that fine-tuning lost."""

from probing.core.facts.fact import PROBE_SETS
from probing.core.forgetting.run import ForgettingRunConfig
from probing.store.forgetting.queries import forgetting_runs
from probing.store.kinds import Card, Kind
from probing.store.rules import forgetting as rules
from probing.store.tables import forgetting as tables

_CARD = Card(
    title="Facts that {name} lost, and how they come back",
    about=(
        "Every fact that the base knows and the fine-tuned model does not was asked for by several ways; a row has the"
        " ways by which one of them comes back. Shares and excesses have wrong answers and never-known facts for"
        " comparison."
    ),
    tags=("fine-tuning", "factual-knowledge"),
    first=("forgetting_facts",),
    of_runs=" of `forgetting_runs`. Facts are named by the hash of their text.",
    columns={
        "facts": lambda run: PROBE_SETS.get(run["probe_set"], run["probe_set"]),
        "templates": "template_set",
        "known with rank": lambda run: f"<= {run['k']}",
        "seeds": "seeds",
        "known by the base": lambda run: f"{run['known']:,}",
        "lost": lambda run: f"{run['lost']:,}",
    },
)
FORGETTING = Kind(
    "forgetting",
    ForgettingRunConfig,
    tables.TABLES,
    rules.RULES,
    rules.SCANS,
    about=tables.__doc__,
    card=_CARD,
    listed=forgetting_runs,
    command="forgetting recover",
    title="recoveries of lost facts",
    line="forgetting {against}{probe_set} {template_set}, rank <= {k}: {lost:,} of {known:,} known facts lost{left}",
)
