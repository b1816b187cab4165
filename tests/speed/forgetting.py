"""What ``probing.ForgettingCallback`` costs a training: the same training with and without it, in the same run."""

import contextlib
import io
import shutil
import uuid
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import AutoModelForTokenClassification, AutoTokenizer, Trainer, TrainingArguments

import probing
from probing.models.encoders.in_memory import weights_id_in_memory
from tests.speed.measurement import SHIPPED_MODEL, Measurement, require_equal, seconds_of
from tests.speed.trex_prompts import bench_folder

#: Facts per asking, and steps of the training, of which every tenth is asked.
FACTS, STEPS, EVERY = 500, 60, 20
ROWS, TOKENS, LABELS = 32, 64, 9


class Noise(Dataset):
    """Rows of random tokens with random tags: speed does not depend on them."""

    def __init__(self, vocabulary: int, rows: int) -> None:
        random = torch.Generator().manual_seed(0)
        self.ids = torch.randint(1000, vocabulary, (rows, TOKENS), generator=random)
        self.tags = torch.randint(0, LABELS, (rows, TOKENS), generator=random)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        ids = self.ids[number]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": self.tags[number]}


def measure(quick: bool = False) -> list[Measurement]:
    """A training of the shipped model on tags, asked at its start and at three states."""
    steps, size = (4, 50) if quick else (STEPS, FACTS)
    folder = bench_folder() / f"forgetting-{uuid.uuid4().hex[:8]}"
    try:
        plain, weights = _train(folder / "plain", steps, [])
        callback = probing.ForgettingCallback(
            "trex", every=max(1, steps * EVERY // STEPS), base="nesia-mini", size=size, out=folder / "runs"
        )
        asked, others = _train(folder / "asked", steps, [callback])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    require_equal(weights == others, "the weights of the training with and without the callback")
    times = len(callback.asked.steps)
    return [
        Measurement(
            "a training that is asked for facts, by the same training without",
            asked,
            "without the callback",
            plain,
            asked / plain,
            2.0,
            True,
            "the weights at the end, bit for bit",
            f"{steps} steps of {ROWS} rows of {TOKENS} tokens; {size} facts at 9 layers, {times} times",
        )
    ]


def _train(folder: Path, steps: int, callbacks: list) -> tuple[float, str]:
    """Seconds of a training, and the identity of the weights at its end."""
    torch.manual_seed(1)
    model = AutoModelForTokenClassification.from_pretrained(SHIPPED_MODEL, num_labels=LABELS, dtype=torch.float32)
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=ROWS,
        use_cpu=True,
        disable_tqdm=True,
        report_to=[],
        save_strategy="no",
        logging_steps=steps,
        seed=1,
        dataloader_pin_memory=False,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Noise(model.config.vocab_size, ROWS * steps),
        callbacks=callbacks,
        processing_class=AutoTokenizer.from_pretrained(SHIPPED_MODEL),
    )
    with contextlib.redirect_stdout(io.StringIO()):
        seconds = seconds_of(trainer.train)
    return seconds, weights_id_in_memory(model)
