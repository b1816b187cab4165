"""The shipped results on forgetting: what comes back, when facts are lost, and what prevents it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from data.making.models import BY_END, FIRST, MODEL, SECOND_WORDING, SHUFFLED, Tuned, learning_rate, wikitext
from probing.core.paths import cache_folder, snapshot_folder
from probing.store.kinds import KINDS
from probing.workflows.forgetting.follow import follow
from probing.workflows.forgetting.prevent import prevent
from probing.workflows.gather import gather_tables, has_runs
from probing.workflows.output import Say
from probing.workflows.requests.finetune import TrainingLength
from probing.workflows.requests.forgetting import RecoverRequest
from probing.workflows.requests.forgetting_series import FollowRequest, PreventRequest

#: Ends of the models whose lost facts are relearned with three seeds instead of one.
SEEDED = ("ner-conll", "sst-2", "pos-ewt", "qa-squad-2")
#: Ends of the controls with shuffled labels whose lost facts are asked for, too.
_SHUFFLED = ("ner-conll-shuffled", "sst-2-shuffled")
#: End of the model whose base is taught so many facts before the same fine-tuning is done again.
_PLANTED, _PLANTS = "ner-conll", 900
#: Ends of the trainings whose states are asked; tasks that the models learn, and the control.
FOLLOWED = ("ner-conll", "sst-2", "control")
#: States of each, and facts of T-REx that all are asked.
_STATES, _ASKED = 12, 10_000
#: Recipes are compared at the full length of the shipped model.
_PREVENTED, _FACTS = "ner-conll", 3000
_RECIPES = ("unprotected", "freeze=0.5", "replay=0.5", "average=0.5")


def results() -> Path:
    """Folder of all results on forgetting."""
    return cache_folder() / "nesia-forgetting"


def recoveries() -> list[tuple[Tuned, RecoverRequest]]:
    """The models whose lost facts are asked for in every way, in a second wording, too; relearning with three seeds for ``SEEDED``."""
    asked = [one for one in (*FIRST, *SHUFFLED) if one.ships or one.end in _SHUFFLED]
    return [(one, _recovery(one, seeds=3 if one.end in SEEDED else 1, templates=SECOND_WORDING)) for one in asked]


def planted() -> tuple[Tuned, RecoverRequest]:
    """The control with planted facts."""
    one = BY_END[_PLANTED]
    return one, _recovery(one, seeds=3, plant=_PLANTS)


def _recovery(one: Tuned, **more: Any) -> RecoverRequest:
    return RecoverRequest(one.called, base=None if one.ships else MODEL, out=results(), rebuild=False, threads=1, device="cpu", **more)


def follow_states(end: str, say: Say = print) -> Path:
    """Trains a shipped model once more by its recipe, keeping states, and asks each of them."""
    one = BY_END[end]
    again = replace(one, end=f"{end}-states", like=end, ships=False, more={"checkpoints": _STATES})
    again.make(say)
    states = cache_folder() / "checkpoints" / again.name
    request = FollowRequest(
        str(states), base=MODEL, size=_ASKED, name=one.name, record=again.folder, out=results(), threads=1, device="cpu"
    )
    return follow(request, say)


def compare_recipes(say: Say = print) -> list[Path]:
    """Fine-tunes with several kinds of protection, two seeds each, at the rate of the shipped model."""
    length = TrainingLength(BY_END[_PREVENTED].steps, 2000, rate=learning_rate(BY_END[_PREVENTED]), pieces=128, dropout=0.1)
    more: dict[str, Any] = {"replay_text": wikitext(), "out": results(), "threads": 1, "device": "cpu"}
    request = PreventRequest(MODEL, _PREVENTED, size=_FACTS, recipes=_RECIPES, length=length, freeze_embeddings=True, **more)
    return prevent(request, say)


def gather(say: Say = print) -> list[Path]:
    """Stores the results in the snapshot, one file per table.

    Raises:
        StoreError: if a file cannot be read.
    """
    files: list[Path] = []
    for kind in ("forgetting", "series"):
        if not has_runs(results(), KINDS[kind].runs[0], say):
            continue
        names = [table.name for table in KINDS[kind].tables]
        files += gather_tables(results(), snapshot_folder(), KINDS[kind].runs[0], names, {}, say, by_model=False)
    return files
