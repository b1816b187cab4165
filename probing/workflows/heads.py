"""Trains a decoding head for every layer of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from probing.core.head_kinds import LOGIT_LENS, TIED, canonical_head
from probing.core.paths import cache_folder
from probing.models.encoders.catalogue import open_encoder, reopening
from probing.models.heads.files import heads_folder, trained_heads_folder, validation_losses
from probing.models.heads.recipe import PRETRAINED, text_sha256
from probing.models.runtime.torch_settings import set_threads
from probing.workflows.executors import ExecutorChoice, executor, passed_on, same_path
from probing.workflows.head_recipes import Wish, recipe_for
from probing.workflows.head_work import HeadWork, head_job, head_text
from probing.workflows.say import Say
from probing.workflows.stored_job import do_job

#: Another spelling of a start -> its name in recipes.
STARTS = {"pretrained": PRETRAINED}
#: Setting of a recipe -> the request's name for it.
SETTINGS = {"learning_rate": "rate", "pieces_per_block": "blocks", "version": "recipe_version"} | {
    name: name
    for name in (
        "positions", "epochs", "batch", "start", "blocks_per_step", "precision", "states_dtype", "steps", "validate_every", "patience",
        "tolerance", "start_positions",
    )
}  # fmt: skip


@dataclass(frozen=True)
class HeadsRequest:
    """Which heads are trained, and how.

    A setting of the recipe that is None is that of the heads in the folder, else the usual one.

    Attributes:
        model: registry name, hub id or folder.
        head: one of ``STORED``.
        text, valid: training and validation text in WikiText's form; None: the fetched WikiText-2.
        out: folder of the heads; None: where ``probe`` and ``ask`` look.
        base: base model whose head a headless model uses.
        name: of the model in the heads; None: its registry name or its folder's.
        revision: branch, tag or commit of a model on the hub; None: what the registry pins, else the main branch.
        positions: masked positions to learn from; 0: the whole text. Usually 30,000.
        epochs: passes over them. Usually ``steps`` from the map, else 3 epochs.
        batch: positions per step, if the text is read in sentences. Usually 256.
        blocks: read the text in contiguous blocks of so many pieces; 0 reads sentences. Usually 0.
        blocks_per_step: blocks whose masked positions make one step. Usually 8.
        rate: peak learning rate. Usually 0.0005.
        seed: of the order; from 1 on a replicate, of the last layer only.
        start: pre-trained (or pretrained), least-squares or random. Usually least-squares.
        steps: steps of the training; 0: ``epochs`` decides. Usually 100 for ``tied`` and ``full`` from least-squares, else 0.
        start_positions: validation positions on which the map is compared with the pre-trained head before training; 0: all.
            Usually 1,024.
        validate_every: steps from one validation to the next; 0 validates after every epoch. Usually 0.
        patience: validations in a row without a lower loss that end the training; 0: all steps. Usually 0.
        tolerance: nats below its lowest value at which a loss counts as lower. Usually 0.
        recipe_version: 1 for the learning rates of versions up to 0.6 of the program. Usually 2.
        half: whether weights are stored in float16.
        precision: of the products with the vocabulary matrix: float32 (usual) or bfloat16.
        states_budget: gigabytes of disk for hidden states.
        states_dtype: float32 (usual) or float16.
        device: auto, cpu, cuda or mps.
        threads: processors per shard; None: unchanged.
        executor: where the work is done.
        layers_per_shard: layers that one worker trains one after the other.
    """

    model: str
    head: str = TIED
    text: Path | None = None
    valid: Path | None = None
    out: Path | None = None
    base: str | None = None
    name: str | None = None
    revision: str | None = None
    positions: int | None = None
    epochs: int | None = None
    batch: int | None = None
    blocks: int | None = None
    blocks_per_step: int | None = None
    rate: float | None = None
    seed: int = 0
    start: str | None = None
    steps: int | None = None
    start_positions: int | None = None
    validate_every: int | None = None
    patience: int | None = None
    tolerance: float | None = None
    recipe_version: int | None = None
    half: bool = False
    precision: str | None = None
    states_budget: float = 20.0
    states_dtype: str | None = None
    device: str = "auto"
    threads: int | None = None
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)
    layers_per_shard: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "head", canonical_head(self.head))

    def wish(self, train: Sequence[str], valid: Sequence[str]) -> Wish:
        """The requested heads, given the sentences of both texts."""
        said = {field: getattr(self, name) for field, name in SETTINGS.items()}
        asked = {field: STARTS.get(value, value) for field, value in said.items() if value is not None}
        if self.epochs is not None:
            # Otherwise the usual steps would replace the epochs.
            asked.setdefault("steps", 0)
        return Wish(self.head, self.seed, text_sha256(train, valid), asked)


def train_heads(request: HeadsRequest, say: Say = print) -> Path:
    """Trains a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.

    Args:
        request: which heads.
        say: called with each line for the user.

    Returns:
        The folder of the heads.

    Raises:
        OptionError: for an option of another executor.
        ProbingError: if text or model are missing or not usable, or a head of another recipe is in the folder.
    """
    used = set_threads(request.threads)
    train, valid = head_text(request.text, request.valid)
    encoder = open_encoder(request.model, request.base, request.device, name=request.name, revision=request.revision)
    folder = request.out or trained_heads_folder(encoder, request.head, request.seed, cache_folder())
    # A replicate has the recipe of the heads that it is compared with.
    replicated = heads_folder(request.model, encoder, request.head, cache_folder()) if request.seed and not request.out else None
    recipe = recipe_for(request.wish(train, valid), encoder, train, [place for place in (folder, replicated) if place], say)
    layers = range(encoder.layers + 1) if request.seed == 0 else range(encoder.layers, encoder.layers + 1)
    opened = HeadWork(encoder, train, valid, recipe, folder, request.half, int(request.states_budget * 1e9))
    workers = executor(request.executor, used, encoder.device.type)
    again = reopening(encoder, same_path(request.model), request.base and same_path(request.base))
    job = head_job(opened, layers, request.layers_per_shard, again, (request.text, request.valid), passed_on())
    do_job(job, workers, say)
    say(f"{request.head} heads of {encoder.name} in {folder}; validation loss in nats:")
    for row in validation_losses(folder, layers):
        say(f"  layer {row['layer']:2}: {_told(row)}")
    return folder


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
