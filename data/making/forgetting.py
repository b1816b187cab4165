"""The shipped results on forgetting: what comes back, when facts are lost, and what prevents it."""

from pathlib import Path

from data.making.models import BY_END, FIRST, MODEL, Tuned, learning_rate, wikitext
from probing.core.paths import cache_folder, snapshot_folder
from probing.store.kinds import KINDS
from probing.workflows.forgetting.follow import follow
from probing.workflows.forgetting.prevent import prevent
from probing.workflows.gather import gather_tables, has_runs
from probing.workflows.requests.finetune import TrainingLength
from probing.workflows.requests.forgetting import RecoverRequest
from probing.workflows.requests.forgetting_series import FollowRequest, PreventRequest
from probing.workflows.say import Say

#: The trainings whose states are asked, and the names of their series.
FOLLOWED = {"ner-conll": f"{MODEL}-ner-conll", "qa-squad-1": f"{MODEL}-qa-squad-1", "control": f"{MODEL}-control"}
#: What is compared is lost within the first fifty steps; the score needs some more.
_PREVENTED, _STEPS, _FACTS = "ner-conll", 300, 6000


def results() -> Path:
    """Folder of all results on forgetting."""
    return cache_folder() / "nesia-forgetting"


def recoveries() -> list[tuple[Tuned, RecoverRequest]]:
    """The models whose lost facts are asked for in every way."""
    return [(one, RecoverRequest(one.called, out=results(), rebuild=False, threads=1, device="cpu")) for one in FIRST]


def follow_states(end: str, say: Say = print) -> Path:
    """Asks every kept state of a training."""
    one = BY_END[end]
    states = cache_folder() / "checkpoints" / one.name
    return follow(
        FollowRequest(str(states), base=MODEL, name=FOLLOWED[end], record=one.folder, out=results(), threads=1, device="cpu"), say
    )


def compare_recipes(say: Say = print) -> list[Path]:
    """Fine-tunes with several kinds of protection, two seeds each, at the rate of the shipped model."""
    length = TrainingLength(_STEPS, 2000, rate=learning_rate(BY_END[_PREVENTED]), pieces=128, dropout=0.1)
    return prevent(
        PreventRequest(
            MODEL,
            _PREVENTED,
            size=_FACTS,
            length=length,
            freeze_embeddings=True,
            replay_text=wikitext(),
            out=results(),
            threads=1,
            device="cpu",
        ),
        say,
    )


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
