"""The shipped results on forgetting: what comes back, when facts are lost, and what prevents it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from data.making.gather import gather_tables, has_runs
from data.making.models import BY_END, FIRST, MODEL, SECOND_WORDING, SHUFFLED, Tuned, learning_rate, wikitext
from probing.finetuning.requests import TrainingLength
from probing.forgetting.follow import follow
from probing.forgetting.line import line
from probing.forgetting.prevent import prevent
from probing.forgetting.requests import FollowRequest, LineRequest, PreventRequest, RecoverRequest
from probing.forgetting.ways import LESSONS
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder, snapshot_folder
from probing.kernel.store.kinds import KINDS

#: Ends of the models whose lost facts are relearned with three seeds instead of one.
SEEDED = ("ner-conll", "sst-2", "pos-ewt", "qa-squad-2")
#: End of the model whose base is taught half of so many answers before the same fine-tuning is done again.
_PLANTED, _PLANTS = "ner-conll", 1800
#: Ends of the trainings whose states are asked; tasks that the models learn, and the control.
FOLLOWED = ("ner-conll", "sst-2", "control")
#: States of each, and facts of T-REx that all are asked.
_STATES, _ASKED = 12, 10_000
#: Ends of the models between which and the base means of the weights are asked.
AVERAGED = ("ner-conll", "sst-2", "pos-ewt")
#: Recipes are compared at the full length of the shipped model.
_PREVENTED, _FACTS = "ner-conll", 3000
_RECIPES = ("unprotected", "freeze=0.5", "replay=0.5", "average=0.5")


def results() -> Path:
    """Folder of all results on forgetting."""
    return cache_folder() / "nesia-forgetting"


def _here() -> dict[str, Any]:
    return {"out": results(), "threads": 1, "device": "cpu"}


def recoveries() -> Iterator[tuple[str, Tuned, RecoverRequest]]:
    """Name, model and request of each, all with savings: relearning, from lessons of every kind, too, with three seeds
    for ``SEEDED``; last, the control with planted facts.
    """

    def asked(one: Tuned, **more: Any) -> RecoverRequest:
        base, seeds = None if one.ships else MODEL, 3 if one.end in SEEDED else 1
        return RecoverRequest(one.called, base=base, seeds=seeds, savings=True, **_here(), **more)

    for one in (*FIRST, *SHUFFLED[:2]):
        yield f"lost facts of {one.name}", one, asked(one, templates=SECOND_WORDING, lessons=tuple(LESSONS))
    yield f"planted facts of {BY_END[_PLANTED].name}", BY_END[_PLANTED], asked(BY_END[_PLANTED], plant=_PLANTS)


def follow_states(end: str, say: Say = print) -> Path:
    """Trains a shipped model once more by its recipe, keeping states, and asks each of them."""
    one = BY_END[end]
    again = replace(one, end=f"{end}-states", like=end, ships=False, more={"checkpoints": _STATES})
    again.make(say)
    states = cache_folder() / "checkpoints" / again.name
    return follow(
        FollowRequest(str(states), base=MODEL, size=_ASKED, name=one.name, record=again.folder, **_here()), say
    )


def compare_recipes(say: Say = print) -> list[Path]:
    """Fine-tunes with several kinds of protection, two seeds each, at the rate of the shipped model."""
    length = TrainingLength(
        BY_END[_PREVENTED].steps, 2000, rate=learning_rate(BY_END[_PREVENTED]), pieces=128, dropout=0.1
    )
    more = {"freeze_embeddings": True, "replay_text": wikitext(), **_here()}
    return prevent(PreventRequest(MODEL, _PREVENTED, size=_FACTS, recipes=_RECIPES, length=length, **more), say)


def average_weights(end: str, say: Say = print) -> object:
    """Asks and scores means of the base's weights and a shipped model's, on the facts of the recipes."""
    return line(LineRequest(BY_END[end].called, size=_FACTS, **_here()), say)


def gather(say: Say = print) -> list[Path]:
    """Stores the results in the snapshot, one file per table."""
    files: list[Path] = []
    for kind in ("forgetting", "series"):
        if not has_runs(results(), KINDS[kind].runs, say):
            continue
        names = [table.name for table in KINDS[kind].tables]
        files += gather_tables(results(), snapshot_folder(), KINDS[kind].runs, names, {}, say, by_model=False)
    return files
