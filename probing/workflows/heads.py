"""Trains a decoding head for every layer of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from probing.core.head_kinds import MAPPED
from probing.core.paths import cache_folder
from probing.jobs.coordinator import run_job
from probing.jobs.lock import claimed
from probing.models.encoders.catalogue import open_encoder
from probing.models.heads.files import trained_heads_folder, validation_losses
from probing.models.heads.recipe import LEAST_SQUARES, PRETRAINED, HeadRecipe, text_sha256
from probing.models.runtime.torch_settings import set_threads
from probing.workflows.executors import ExecutorChoice, Who, executor, passed_on, same_path
from probing.workflows.head_work import HeadWork, head_job, head_text
from probing.workflows.say import Say

#: Another spelling of a start -> how recipes have called it since the first.
STARTS = {"pretrained": PRETRAINED}


@dataclass(frozen=True)
class HeadsRequest:
    """Which heads are trained, and how.

    Attributes:
        model: registry name, hub id or folder.
        head: one of ``STORED``.
        text, valid: training and validation text in WikiText's form; None takes the fetched WikiText-2.
        out: folder of the heads; None is where ``probe`` and ``ask`` look.
        base: base model whose head a headless model takes.
        name: how the heads call the model; None is its registry name or its folder's.
        positions: masked positions to learn from; 0 takes the whole text.
        epochs: passes over them.
        batch: positions a step, where the text is read in sentences.
        blocks: read the text in contiguous blocks of so many pieces; 0 reads sentences.
        blocks_a_step: blocks whose masked positions make one step.
        rate: peak learning rate.
        seed: of the order; from 1 on a replicate, of the last layer only.
        start: pre-trained (or pretrained), least-squares or random; None is what is usual for the kind.
        steps: steps of the training; 0 goes by epochs.
        validate_every: steps from one validation to the next; 0 validates after every epoch.
        patience: validations in a row without a fall of the loss that end the training; 0 takes all steps.
        tolerance: nats by which the loss must be below its lowest to have fallen.
        half: whether weights are stored in float16.
        precision: float32 or bfloat16, of the products with the vocabulary matrix.
        states_budget: gigabytes of disk for hidden states.
        states_dtype: float32 or float16.
        device: auto, cpu, cuda or mps.
        threads: processors of a shard; None leaves them as they are.
        executor: who computes.
        layers_a_shard: layers that one worker trains one after the other.
    """

    model: str
    head: str = "tied"
    text: Path | None = None
    valid: Path | None = None
    out: Path | None = None
    base: str | None = None
    name: str | None = None
    positions: int = 30_000
    epochs: int = 3
    batch: int = 256
    blocks: int = 0
    blocks_a_step: int = 8
    rate: float = 5e-4
    seed: int = 0
    start: str | None = None
    steps: int = 0
    validate_every: int = 0
    patience: int = 0
    tolerance: float = 0.0
    half: bool = False
    precision: str = "float32"
    states_budget: float = 20.0
    states_dtype: str = "float32"
    device: str = "auto"
    threads: int | None = None
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)
    layers_a_shard: int = 1

    def recipe(self, train: Sequence[str], valid: Sequence[str]) -> HeadRecipe:
        """What decides the heads' weights, given the sentences of both texts.

        Raises:
            HeadError: for a setting that no head can be trained with.
        """
        recipe = HeadRecipe(
            kind=self.head,
            text_sha256=text_sha256(train, valid),
            positions=self.positions,
            epochs=self.epochs,
            batch=self.batch,
            learning_rate=self.rate,
            seed=self.seed,
            start=STARTS.get(self.start, self.start) if self.start else LEAST_SQUARES if self.head in MAPPED else PRETRAINED,
            pieces_a_block=self.blocks,
            blocks_a_step=self.blocks_a_step,
            precision=self.precision,
            states_dtype=self.states_dtype,
            steps=self.steps,
            validate_every=self.validate_every,
            patience=self.patience,
            tolerance=self.tolerance,
        )
        recipe.check()
        return recipe


def train_heads(request: HeadsRequest, say: Say = print) -> Path:
    """Trains a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.

    Args:
        request: which heads.
        say: called with each line for the user.

    Returns:
        The folder of the heads.

    Raises:
        OptionError: for an option of another executor.
        ProbingError: if text or model are not there or not usable, or a head of another recipe is in the way.
    """
    used = set_threads(request.threads)
    train, valid = head_text(request.text, request.valid)
    encoder = open_encoder(request.model, request.base, request.device, name=request.name)
    recipe = request.recipe(train, valid)
    folder = request.out or trained_heads_folder(encoder, request.head, request.seed, cache_folder())
    layers = range(encoder.layers + 1) if request.seed == 0 else range(encoder.layers, encoder.layers + 1)
    opened = HeadWork(encoder, train, valid, recipe, folder, request.half, int(request.states_budget * 1e9))
    workers = executor(request.executor, used, encoder.device.type)
    base = request.base and same_path(request.base)
    job = head_job(opened, layers, request.layers_a_shard, same_path(request.model), base, (request.text, request.valid), passed_on())
    with claimed(job.folder, say):
        outcome = run_job(job, workers)
    if request.executor.who != Who.local:
        say(outcome.told())
    say(f"{request.head} heads of {encoder.name} in {folder}; validation loss in nats:")
    for row in validation_losses(folder, layers):
        say(f"  layer {row['layer']:2}: {_told(row)}")
    return folder


def _told(row: Mapping[str, float]) -> str:
    """The validation losses of one layer's head in words."""
    best = f"{row['best']:.3f} at step {row['best_step']}"
    if "map" not in row:
        return f"{row['start']:.3f} at the start, {best}"
    kept = ", so without the map" if row["map"] >= row["lens"] else ""
    return f"{row['lens']:.3f} by logit lens, {row['map']:.3f} by the least-squares map{kept}, {best}"
