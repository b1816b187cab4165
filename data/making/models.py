"""The models that are fine-tuned from nesia-mini, and how."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from probing.finetuning.finetune import finetune
from probing.finetuning.requests import FinetuneRequest, TrainingLength
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder
from probing.kernel.models.names import FINETUNING
from probing.kernel.registry import REPOSITORY

MODEL = "nesia-mini"
SHIPPED = REPOSITORY / "data" / "models"
#: Peak learning rates that a model's first seed chooses from.
RATES = (1e-4, 2e-4, 5e-4)
#: Tokens per step of every fine-tuning, and its looks at the development part.
_TOKENS, _LOOKS = 2000, 10


def not_shipped() -> Path:
    """The folder of models of which only results ship."""
    return cache_folder() / "nesia-models"


def downloads() -> Path:
    """The folder of the fetched data sets."""
    return cache_folder() / "downloads"


@dataclass(frozen=True)
class Tuned:
    """One fine-tuning: ``like`` is the end of the model whose learning rate it takes, empty if it chooses from
    ``RATES``; ``patience`` looks without a better score end the training.
    """

    end: str
    objective: str
    steps: int
    data: str = ""
    like: str = ""
    seed: int = 1
    ships: bool = True
    pieces: int = 128
    patience: int = 3
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The model's name."""
        return f"{MODEL}-{self.end}"

    @property
    def folder(self) -> Path:
        """Where the model is made."""
        return (SHIPPED if self.ships else not_shipped()) / self.name

    @property
    def called(self) -> str:
        """What commands call it: a shipped model's name, or a folder."""
        return self.name if self.ships else str(self.folder)

    @property
    def all_steps(self) -> int:
        """Steps of the training and of the choice of its learning rate, each rate for a third of them."""
        return self.steps if self.like else self.steps + len(RATES) * (self.steps // 3)

    def request(self) -> FinetuneRequest:
        """What ``finetune`` is asked for."""
        rate = learning_rate(BY_END[self.like]) if self.like else None
        length = TrainingLength(
            self.steps,
            _TOKENS,
            rate=rate,
            pieces=self.pieces,
            dropout=0.1,
            looks=_LOOKS,
            patience=self.patience,
            bfloat16=True,
        )
        if self.more.get("shuffled_labels"):
            # Its score never rises: the best state of several looks would be one of the first.
            length = replace(length, steps=kept_step(BY_END[self.like].folder), looks=None, patience=None)
        more: dict[str, Any] = {"data": downloads() / self.data} if self.data else {}
        if self.objective == "control":
            more["lama"] = downloads() / "lama"
        return FinetuneRequest(
            MODEL,
            self.objective,
            out=self.folder,
            length=length,
            freeze_embeddings=True,
            difference=True,
            bits=4,
            seed=self.seed,
            rates=() if self.like else RATES,
            device="cpu",
            **more,
            **self.more,
        )

    def make(self, say: Say) -> None:
        """Trains it, resumable."""
        finetune(self.request(), say)


def wikitext() -> Path:
    """The part of the base's own text that is no evidence."""
    return downloads() / WIKITEXT


def learning_rate(tuned: Tuned) -> float:
    """The learning rate that a finished model was trained with."""
    return float(_record(tuned.folder)["recipe"]["learning_rate"])


def kept_step(folder: Path) -> int:
    """Steps that the finished model in a folder was trained for: until the state that its looks chose."""
    return int(_record(folder)["kept_step"])


def _record(folder: Path) -> Any:
    return json.loads((folder / FINETUNING).read_text(encoding="utf-8"))


def _shuffled(of: Tuned) -> Tuned:
    """The control of a task: as many steps as the model took, at its rate, on shuffled labels."""
    return replace(of, end=f"{of.end}-shuffled", like=of.end, ships=False, more={"shuffled_labels": True})


def _seeds(of: Tuned) -> list[Tuned]:
    return [replace(of, end=f"{of.end}-seed-{seed}", like=of.end, seed=seed, ships=False, more={}) for seed in SEEDS]


SEEDS = (2, 3)
#: Template set in which facts are asked once more.
SECOND_WORDING = "paraphrase"
WIKITEXT = "wikitext-103-slice/wikitext-103_wiki.train.first2883584bytes.tokens"
_NER = Tuned("ner-conll", "ner-conll", 1000)
_SST, _POS = Tuned("sst-2", "sst-2", 1000), Tuned("pos-ewt", "pos-ewt", 1000, "ud-english-ewt")
#: About ten passes of the training part.
_QA = Tuned("qa-squad-1", "qa-squad-1", 3700, "squad-parts")
#: Acceptability needs hundreds of steps before the development score rises for the first time.
_COLA = Tuned("cola", "cola", 1200, patience=6)
#: The six of Wallat, Singh and Anand (2020). Of alike objectives one chooses the rate for all, which saves the others'
#: choice.
PAPER = (
    _QA,
    Tuned("qa-squad-2", "qa-squad-2", 2400, "squad-parts", like="qa-squad-1"),
    _NER,
    Tuned("rank-msmarco", "rank-msmarco", 1000, "msmarco-trec"),
    Tuned("mlm-squad", "mlm-squad", 1000, "squad-parts", like="control"),
    Tuned("mlm-msmarco", "mlm-msmarco", 1000, "msmarco-trec", like="control"),
)
CONTROL = Tuned("control", "control", 1000, WIKITEXT)
FIRST = (*PAPER, CONTROL, _COLA, _SST, Tuned("rte", "rte", 500, pieces=256), _POS)
FURTHER_SEEDS = (*_seeds(_NER), *_seeds(_SST))
SHUFFLED = tuple(_shuffled(one) for one in (_NER, _SST, _POS, _QA))
COLA_MEAN = replace(_COLA, end="cola-mean", like="cola", ships=False, more={"pooling": "mean"})
#: Made in this order: what most pages need comes first.
_BEFORE = (_QA, _NER, CONTROL, _SST, _COLA, _POS)
TUNED = (*_BEFORE, *(one for one in FIRST if one not in _BEFORE), *SHUFFLED, *FURTHER_SEEDS, COLA_MEAN)
BY_END = {one.end: one for one in TUNED}
#: Their predictions ship fact by fact, as the base's do; of all others counts ship.
FACT_BY_FACT = (_QA, _NER, CONTROL)
