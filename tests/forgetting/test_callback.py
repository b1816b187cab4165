"""``probing.ForgettingCallback`` in real trainings: its numbers are those of a probe, and the training does not notice
it.
"""

import csv
import json
import random
import shutil

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

import probing
from probing.facts.probe import probe
from probing.facts.requests import ProbeRequest
from probing.facts.sources import read_own_facts
from probing.forgetting.series import COUNTS, AskedStates, counts
from probing.kernel.models.load import weights_id_in_memory
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.store.check import check_store
from probing.kernel.store.parquet import read_table
from tests.forgetting.planted import SENTENCES, facts, trained

LAYERS = 4


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The folder of a base that knows some facts, and a file of facts."""
    root = tmp_path_factory.mktemp("callback")
    asked = facts()[:60]
    trained(asked[:45], root / "base", steps=110)
    with (root / "mine.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["subject", "relation", "object", "prompt"])
        rows.writerows([f.subject, f.relation, f.object, f.prompt] for f in asked)
    # Only facts with a template have a swapped subject.
    (root / "lama" / "TREx").mkdir(parents=True)
    templates = {fact.relation: fact.template for fact in asked}
    lines = [json.dumps({"relation": relation, "template": template}) for relation, template in templates.items()]
    (root / "lama" / "relations.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for relation in templates:
        lines = [json.dumps({"sub_label": f.subject, "obj_label": f.object}) for f in asked if f.relation == relation]
        (root / "lama" / "TREx" / f"{relation}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return root


class Rows(torch.utils.data.Dataset):
    """Sentences with a label that says nothing, or with themselves as labels."""

    def __init__(self, tokenizer, masked: bool):
        self.rows = [
            tokenizer(sentence, truncation=True, max_length=20, padding="max_length") for sentence in SENTENCES[:200]
        ]
        self.masked = masked

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        row = {name: torch.tensor(value) for name, value in self.rows[number].items()}
        return row | {"labels": row["input_ids"] if self.masked else torch.tensor(number % 2)}


class States(TrainerCallback):
    """Saves the model at some steps, and notes the random states and gradients after each."""

    def __init__(self, folder, at=()):
        self.folder, self.at, self.seen = folder, at, []

    def on_step_end(self, args, state, control, model=None, processing_class=None, **_):
        self.seen.append((torch.get_rng_state().sum().item(), random.random(), np.random.rand(), model.training))
        if state.global_step in self.at:
            model.save_pretrained(self.folder / f"state-{state.global_step}")
            processing_class.save_pretrained(self.folder / f"state-{state.global_step}")


def trainer_of(planted, folder, *callbacks, masked=False, steps=8, tokenizer=True, **more):
    torch.manual_seed(3)
    kind = AutoModelForMaskedLM if masked else AutoModelForSequenceClassification
    model = kind.from_pretrained(planted / "base", hidden_dropout_prob=0.2)
    read = AutoTokenizer.from_pretrained(planted / "base")
    settings = {"report_to": [], "save_strategy": "no"} | more
    arguments = TrainingArguments(
        output_dir=str(folder / "out"),
        max_steps=steps,
        per_device_train_batch_size=8,
        learning_rate=2e-3,
        logging_steps=4,
        use_cpu=True,
        disable_tqdm=True,
        seed=1,
        dataloader_pin_memory=False,
        **settings,
    )
    return Trainer(
        model=model,
        args=arguments,
        train_dataset=Rows(read, masked),
        callbacks=list(callbacks),
        processing_class=read if tokenizer else None,
    )


def asking(planted, folder, **more):
    return probing.ForgettingCallback(
        more.pop("facts", planted / "lama"), **({"every": 4, "base": planted / "base", "out": folder / "runs"} | more)
    )


def ranks_of_a_probe(planted, model, folder):
    """(layers, facts) own and swapped ranks of ``probe``, and the facts."""
    request = ProbeRequest(
        model=str(model),
        base=str(planted / "base"),
        facts=str(planted / "lama"),
        head="logit_lens",
        out=folder,
        device="cpu",
        threads=1,
        progress=False,
    )
    (run_id,) = probe(request, lambda line: None)
    rows = read_table(folder / f"predictions-{run_id}.parquet", "predictions").to_pandas()
    wide = [rows.pivot(index="layer", columns="fact_id", values=name) for name in ("gold_rank", "other_rank")]
    return wide[0], wide[1].fillna(0)


@pytest.fixture(scope="module")
def ranks_of_the_base(planted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("probed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(folder / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(folder / "snapshot"))
        return ranks_of_a_probe(planted, planted / "base", folder / "runs")


@pytest.mark.parametrize("masked", [False, True], ids=["head of the base", "own head"])
def test_the_numbers_are_those_of_a_probe_of_the_saved_state_and_the_training_does_not_notice_it(
    planted, ranks_of_the_base, tmp_path, cache, masked
):
    set_threads(1)
    callback, found = asking(planted, tmp_path), []
    for name, callbacks in (("without", []), ("with", [callback])):
        states = States(tmp_path / name, at=(4,))
        random.seed(5)
        np.random.seed(5)
        trainer = trainer_of(planted, tmp_path / name, *callbacks, states, masked=masked)
        trainer.train()
        losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
        found.append((weights_id_in_memory(trainer.model), states.seen, losses))
    assert found[0] == found[1] and len(found[0][2]) == 2
    asked, ids = callback.asked, [fact.fact_id for fact in callback._questions.facts]
    assert asked.steps == (0, 4, 8) and list(asked.layers) == list(range(LAYERS + 1))
    of_state = ranks_of_a_probe(planted, tmp_path / "with" / "state-4", tmp_path / "probed")
    for place, (own, swapped) in enumerate((ranks_of_the_base, of_state)):
        assert (own[ids].to_numpy() == asked.ranks[place]).all()
        assert (swapped[ids].to_numpy() == asked.swapped[place]).all()
    assert (asked.ranks[0, -1] <= 1).mean() > 0.4 and asked.swapped.any()


def test_it_logs_through_the_trainer_and_stores_a_series(planted, tmp_path, cache, capsys):
    pytest.importorskip("tensorboard", reason="tensorboard is a tool of the development environment")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    callback = asking(planted, tmp_path, name="mine")
    trainer = trainer_of(planted, tmp_path, callback, report_to=["tensorboard"])
    trainer.train()
    whole = callback.asked
    whole = AskedStates(whole.steps, whole.layers, whole.ranks, whole.swapped, [""] * len(whole.relations))
    expected = dict(zip(COUNTS, counts(whole, 1)[-1, -1, 0].tolist(), strict=True))
    assert expected["lost"] > 0 and expected["kept"] + expected["lost"] + expected["returned"] > 20
    logged = [one for one in trainer.state.log_history if "forgetting_lost" in one]
    assert [one["step"] for one in logged] == [0, 4, 8]
    assert all(logged[-1][f"forgetting_{name}"] == expected[name] for name in ("kept", "lost", "returned", "gained"))
    assert {f"forgetting_kept_layer_{layer}" for layer in range(LAYERS + 1)} <= set(logged[0])
    (event,) = (tmp_path / "out").rglob("events.out.tfevents*")
    events = EventAccumulator(str(event.parent))
    events.Reload()
    assert [(one.step, one.value) for one in events.Scalars("train/forgetting_lost")] == [
        (one["step"], one["forgetting_lost"]) for one in logged
    ]
    assert (
        abs(events.Scalars("train/forgetting_own_minus_swapped")[-1].value - logged[-1]["forgetting_own_minus_swapped"])
        < 1e-6
    )
    printed = capsys.readouterr().out
    assert "asked 60 facts 3 times" in printed and "% of the" in printed
    (run,) = (tmp_path / "runs").glob("series_runs-*.parquet")
    (row,) = read_table(run, "series_runs").to_pylist()
    assert (row["model"], row["base"], row["states"], row["facts"], row["layers"]) == (
        "mine",
        "base",
        3,
        60,
        LAYERS + 1,
    )
    steps = read_table(tmp_path / "runs" / f"series_steps-{row['run_id']}.parquet", "series_steps").to_pylist()
    assert [(one["step"], one["asked"], one["loss"] is None) for one in steps] == [
        (0, True, True),
        (4, True, False),
        (8, True, False),
    ]
    assert check_store([tmp_path / "runs"]) == []
    assert not (tmp_path / "out" / "asked-facts.safetensors").exists()


def test_a_resumed_training_goes_on_with_the_same_facts(planted, tmp_path, cache):
    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.global_step == 5:
                raise KeyboardInterrupt

    whole = asking(planted, tmp_path, size=30, every=2)
    trainer_of(planted, tmp_path / "whole", whole, save_strategy="steps", save_steps=2).train()
    first = asking(planted, tmp_path, size=30, every=2)
    with pytest.raises(KeyboardInterrupt):
        trainer_of(planted, tmp_path, first, Stop(), save_strategy="steps", save_steps=2).train()
    second = asking(planted, tmp_path, every=2)
    trainer_of(planted, tmp_path, second, save_strategy="steps", save_steps=2).train(resume_from_checkpoint=True)
    assert second.asked.steps == whole.asked.steps == (0, 2, 4, 6, 8)
    assert (second.asked.ranks == whole.asked.ranks).all()
    shutil.rmtree(tmp_path / "out")


def test_the_time_decides_how_many_facts_are_asked(planted, tmp_path, cache):
    few = asking(planted, tmp_path, seconds=1e-9, layers=[1, LAYERS])
    trainer_of(planted, tmp_path, few, steps=1).train()
    assert few.asked.ranks.shape == (2, 2, 60)
    some = asking(planted, tmp_path, size=20, layers="last", facts=planted / "mine.csv")
    trainer_of(planted, tmp_path, some, steps=1).train()
    assert some.asked.ranks.shape == (2, 1, 20)
    all_of_them = [fact.fact_id for fact in read_own_facts(planted / "mine.csv", "mine").facts]
    assert {fact.fact_id for fact in some._questions.facts} == set(
        sorted(all_of_them)[:20]
    ) and not some.asked.swapped.any()


def test_counts_equal_those_counted_one_by_one():
    random_state = np.random.default_rng(4)
    ranks, swapped = (random_state.integers(low, 4, (3, 2, 40)).astype(np.uint32) for low in (1, 0))
    relations = [f"P{n % 3}" for n in range(40)]
    found = counts(AskedStates((0, 5, 9), (0, 1), ranks, swapped, relations), 1)
    for step in range(3):
        for layer in range(2):
            for place, relation in enumerate(("P0", "P1", "P2")):
                expected = dict.fromkeys(COUNTS, 0)
                for fact in (n for n in range(40) if relations[n] == relation):
                    history = [ranks[at, layer, fact] == 1 for at in range(step + 1)]
                    other = swapped[step, layer, fact]
                    expected["asked"] += 1
                    expected["known"] += history[-1]
                    expected["kept"] += all(history)
                    expected["lost"] += history[0] and not history[-1]
                    expected["returned"] += history[0] and history[-1] and not all(history)
                    expected["gained"] += not history[0] and history[-1]
                    for prefix, counted in (("", True), ("before_", history[0])):
                        expected[f"{prefix}paired"] += counted and other > 0
                        expected[f"{prefix}own"] += counted and other > 0 and history[-1]
                        expected[f"{prefix}swapped"] += counted and other == 1
                assert dict(zip(COUNTS, found[step, layer, place].tolist(), strict=True)) == expected
