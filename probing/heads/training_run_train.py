"""Trains a decoding head for every layer of a model."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from probing.heads.files import heads_folder, trained_heads_folder, validation_losses
from probing.heads.recipe import PRETRAINED, text_sha256
from probing.heads.requests import HeadsRequest
from probing.heads.training_run import Wish, recipe_for
from probing.heads.training_run_work import HeadWork, head_text
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder
from probing.kernel.jobs.stored_runs import do_job
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.models.torch_settings import set_threads

#: Another spelling of a start -> its name in recipes.
STARTS = {"pretrained": PRETRAINED}
#: Setting of a recipe -> the request's name for it.
SETTINGS = {"learning_rate": "rate", "pieces_per_block": "blocks", "version": "recipe_version"} | {
    name: name
    for name in (
        "positions",
        "epochs",
        "batch",
        "start",
        "blocks_per_step",
        "precision",
        "states_dtype",
        "steps",
        "validate_every",
        "patience",
        "tolerance",
        "start_positions",
    )
}


def train_heads(request: HeadsRequest, say: Say = print) -> Path:
    """Trains a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.

    Args:
        request: which heads.
        say: called with each line for the user.

    Returns:
        The folder of the heads.

    Raises:
        ProbingError: if text or model are missing or not usable, or a head of another recipe is in the folder.
    """
    set_threads(request.threads)
    train, valid = head_text(request.text, request.valid)
    encoder = open_encoder(request.model, request.base, request.device, name=request.name, revision=request.revision)
    folder = request.out or trained_heads_folder(encoder, request.head, request.seed, cache_folder())
    # A replicate has the recipe of the heads that it is compared with.
    replicated = (
        heads_folder(request.model, encoder, request.head, cache_folder()) if request.seed and not request.out else None
    )
    recipe = recipe_for(
        _wish(request, train, valid), encoder, train, [place for place in (folder, replicated) if place], say
    )
    layers = range(encoder.layers) if request.seed == 0 else range(encoder.depth, encoder.layers)
    work = HeadWork(
        encoder,
        train,
        valid,
        recipe,
        layers,
        request.layers_per_shard,
        folder.absolute(),
        request.half,
        int(request.states_budget * 1e9),
    )
    work.refuse_others()
    do_job(request, work, say)
    say(f"{request.head} heads of {encoder.name} in {folder}; validation loss in nats:")
    for row in validation_losses(folder, layers):
        say(f"  layer {row['layer']:2}: {_told(row)}")
    return folder


def _wish(request: HeadsRequest, train: Sequence[str], valid: Sequence[str]) -> Wish:
    """The requested heads, given the sentences of both texts."""
    said = {field: getattr(request, name) for field, name in SETTINGS.items()}
    asked = {field: STARTS.get(value, value) for field, value in said.items() if value is not None}
    if request.epochs is not None:
        # Otherwise the usual steps would replace the epochs.
        asked.setdefault("steps", 0)
    return Wish(request.head, request.seed, text_sha256(train, valid), asked)


def _told(row: Mapping[str, float]) -> str:
    """The validation losses of one layer's head in words."""
    best = f"{row['best']:.3f} at step {row['best_step']}"
    if "map" not in row:
        return f"{row['start']:.3f} at the start, {best}"
    kept = ", so without the map" if row["map"] >= row[LOGIT_LENS] else ""
    tried = f"{row[LOGIT_LENS]:.3f} by logit lens, {row['map']:.3f} by the least-squares map"
    if "positions" in row:
        tried += f" (first {row['positions']:,} positions){kept}, {row['start']:.3f} at the start"
        kept = ""
    return f"{tried}{kept}, {best}"
