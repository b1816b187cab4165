"""Which decoding heads are trained, and how."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from probing.kernel.models.names import STORED, TIED, canonical_head, listed
from probing.kernel.options import Option
from probing.kernel.requests import LongWork


@dataclass(frozen=True)
class HeadsRequest(LongWork):
    """The heads to train. A setting that is None is that of the heads in the folder, else the usual one."""

    head: Annotated[str, Option(f"{listed(STORED)}.")] = TIED
    text: Annotated[Path | None, Option("Training text in WikiText's form; none: the fetched WikiText-2.")] = None
    valid: Annotated[Path | None, Option("Validation text; none: the fetched WikiText-2.")] = None
    out: Annotated[Path | None, Option("Folder of the heads; none: where probe and ask look.")] = field(
        default=None, kw_only=True
    )
    name: Annotated[str | None, Option("Name of the model in the heads; none: its registry name or its folder's.")] = (
        field(default=None, kw_only=True)
    )
    positions: Annotated[
        int | None, Option("Masked positions to learn from; 0: the whole text. Usual: 30,000.", least=0)
    ] = None
    epochs: Annotated[
        int | None,
        Option("Passes over the positions. Usual: steps for tied and full from least-squares, else 3 epochs.", least=1),
    ] = None
    batch: Annotated[
        int | None, Option("Positions per step, if the text is read in sentences. Usual: 256.", least=1)
    ] = None
    blocks: Annotated[
        int | None,
        Option("Read the text in contiguous blocks of so many pieces; 0 reads sentences. Usual: 0.", least=0),
    ] = None
    blocks_per_step: Annotated[
        int | None,
        Option("Blocks whose positions make one step. Usual: 8.", least=1),
    ] = None
    rate: Annotated[float | None, Option("Peak learning rate. Usual: 0.0005.")] = None
    seed: Annotated[int, Option("Seed of the order; from 1 on a replicate, of the last layer only.", least=0)] = 0
    start: Annotated[str | None, Option("pretrained, least-squares or random. Usual: least-squares.")] = None
    steps: Annotated[
        int | None,
        Option(
            "Steps of the training; 0: --epochs decides. Usual: 100 for tied and full from least-squares, else 0.",
            least=0,
        ),
    ] = None
    start_positions: Annotated[
        int | None,
        Option(
            "Validation positions that choose between map and logit lens as the start; 0: all. Usual: 1,024.", least=0
        ),
    ] = None
    validate_every: Annotated[
        int | None, Option("Steps from one validation to the next; 0: after every epoch. Usual: 0.", least=0)
    ] = None
    patience: Annotated[
        int | None,
        Option("End after so many validations in a row without a lower loss; 0: all steps. Usual: 0.", least=0),
    ] = None
    tolerance: Annotated[
        float | None, Option("Nats below its lowest value at which a loss counts as lower. Usual: 0.", least=0.0)
    ] = None
    recipe_version: Annotated[
        int | None, Option("1: the learning rates of heads made by versions up to 0.6. Usual: 2.", least=1, most=2)
    ] = None
    half: Annotated[bool, Option("Store weights in float16.")] = False
    precision: Annotated[
        str | None, Option("Of the products with the vocabulary matrix: float32 (usual) or bfloat16.")
    ] = None
    states_budget: Annotated[
        float,
        Option(
            "Gigabytes of disk for hidden states (BERT-base on WikiText-2: 15.6); less: more passes.",
            least=0.0,
            most=1e9,
        ),
    ] = 20.0
    states_dtype: Annotated[str | None, Option("On disk: float32 (usual) or float16 for half the space.")] = None
    layers_per_shard: Annotated[int, Option("Layers that one worker trains one after the other.", least=1)] = 1

    def check(self) -> None:
        """Gives the kind of heads its usual name."""
        object.__setattr__(self, "head", canonical_head(self.head))
