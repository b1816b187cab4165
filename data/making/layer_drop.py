"""Six small bases with and without LayerDrop, and which results are of the recipe; only counts of them ship."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from data.making.models import BY_END, MODEL, SHIPPED, Tuned, downloads, kept_step, wikitext
from data.making.plan import SECONDS_PER_STEP, Step
from data.making.pretrain import PretrainRequest, pretrain
from data.making.pretraining.train import PretrainRecipe
from probing.facts.probe import probe
from probing.facts.report_carried import READ_NOT_CARRIED, by_layer
from probing.facts.report_layers import precision
from probing.facts.report_pairs import transitions
from probing.facts.requests import CARRIED, ProbeRequest
from probing.facts.store_carried import carried_runs
from probing.finetuning.finetune import finetune
from probing.forgetting import report_outcome, report_savings
from probing.forgetting.memory import LOST, NEVER_KNOWN
from probing.forgetting.recover import recover
from probing.forgetting.requests import RecoverRequest
from probing.forgetting.savings import means
from probing.forgetting.ways import LAYERS_BACK, OTHER_LAYER
from probing.kernel.errors import Say
from probing.kernel.files import atomic_text, cache_folder
from probing.kernel.store.opening import open_database
from probing.kernel.store.stored import fact_runs

#: Next to the base: every finding of every small base.
RECORD = "layer-drop.json"
SEEDS, SHARES = (1, 2, 3), (0.25, 0.0)
STEPS = 12_000
#: All six alike, on any processor: one without its instructions takes three and a half times as long with it.
BFLOAT16 = False
#: Ends of the models that are fine-tuned from each; the first one's lost facts are asked for.
ENDS = ("ner-conll", "control")
FACTS = "trex"
#: Of 8 layers: one at which much can be read that the model does not go by yet.
INNER = 5


@dataclass(frozen=True)
class Small:
    """One base: the share of blocks that a training step leaves out, and its seed."""

    layer_drop: float
    seed: int

    @property
    def name(self) -> str:
        """Its name, and its steps' too."""
        return f"nesia-{'with' if self.layer_drop else 'without'}-layer-drop-{self.seed}"

    @property
    def folder(self) -> Path:
        """Where it is made, and its models beside it."""
        return cache_folder() / "nesia-layer-drop" / self.name

    @property
    def results(self) -> Path:
        """Folder of its runs."""
        return self.folder.with_name(f"{self.name}-results")

    def tuned(self, end: str) -> Path:
        """Folder of a model fine-tuned from it."""
        return self.folder.with_name(f"{self.name}-{end}")


def bases() -> list[Small]:
    """All six; a pair of each seed is made together."""
    return [Small(share, seed) for seed in SEEDS for share in SHARES]


def steps() -> list[Step]:
    """Of each base that does not ship its training, and what it shows; at the rates of the family's models."""
    made: list[Step] = []
    shipped = _by_base(rows())
    for one in bases():
        if one in shipped:
            continue
        made.append(Step(one.name, partial(_train, one), STEPS * SECONDS_PER_STEP / 60))
        made.append(Step(f"what {one.name} shows", partial(_measure, one), 50, (one.name,)))
    return made


def _train(one: Small, say: Say) -> None:
    recipe = PretrainRecipe(
        steps=STEPS,
        seed=one.seed,
        stated_visits=2,
        well_known_visits=10,
        whole_answer_share=0.8,
        layer_drop=one.layer_drop,
        bfloat16=BFLOAT16,
    )
    if not one.folder.is_dir():
        work = cache_folder() / "nesia-layer-drop" / "checkpoints"
        pretrain(PretrainRequest(downloads() / "lama", wikitext(), one.folder, recipe, work=work), say)


def _measure(one: Small, say: Say) -> None:
    """Fine-tunes it, asks all, and stores its findings."""
    base = str(one.folder)
    for end in ENDS:
        # The rate that the family's model chose: no choice of this base's own.
        like: Tuned = replace(BY_END[end], like=end, ships=False)
        asked = like.request()
        length = replace(asked.length, bfloat16=BFLOAT16)
        finetune(replace(asked, model=base, out=one.tuned(end), length=length, difference=False, bits=None), say)
    how: dict[str, Any] = {"threads": 1, "device": "cpu", "out": one.results}
    for model in (base, *(str(one.tuned(end)) for end in ENDS)):
        probe(ProbeRequest(model, FACTS, progress=False, **how), say)
    probe(ProbeRequest(base, FACTS, measure=CARRIED, progress=False, **how), say)
    recover(RecoverRequest(str(one.tuned(ENDS[0])), base=base, facts=FACTS, seeds=1, savings=True, **how), say)
    atomic_text(_findings_of(one), json.dumps(findings(one), indent=1) + "\n")


def _findings_of(one: Small) -> Path:
    return one.results / "findings.json"


def findings(one: Small) -> dict[str, float]:
    """Finding -> its value, of the stored runs of one base and its models."""
    with open_database(one.results) as db:
        runs = fact_runs(db).set_index("model")["run_id"]
        curve = precision(db, [runs[one.name]], (1,), "micro").set_index("layer")["value"]
        lost = [(end, transitions(db, [(runs[one.name], runs[one.tuned(end).name])], (1,)).iloc[0]) for end in ENDS]
        carried = by_layer(db, list(carried_runs(db)["run_id"]))
        carried = carried[carried["part"] == "known"].set_index("layer")
        at = carried.loc[INNER].set_index("measure")["value"]
        more = carried.loc[carried["measure"] == READ_NOT_CARRIED, "above_null"]
        back = report_outcome.usual(report_outcome.ways(db, report_outcome.stored_runs(db)))
        back = back[back["yardstick"] == NEVER_KNOWN].set_index("way")["difference"]
        saved = means(report_savings.savings(db)).set_index("asked")["difference"]
    return {
        "P@1 at the last layer, per cent": 100 * curve.iloc[-1],
        "first layer with half of it": float(curve.index[curve >= curve.iloc[-1] / 2][0]),
        # Of the facts whose answer is not first with the subject masked, as what is carried.
        f"read at layer {INNER}, of 100 facts that the last layer answers": 100 * (at["alone"] + more[INNER]),
        "carried alone there": 100 * at["alone"],
        "read minus carried alone there, points": 100 * more[INNER],
        "the most of that at any layer, points": 100 * more.max(),
        **{f"step of {end} that is kept, the best for its task": float(kept_step(one.tuned(end))) for end in ENDS},
        **{f"lost by {end}, of 100 known facts": 100 * row["lost"] / (row["kept"] + row["lost"]) for end, row in lost},
        f"{OTHER_LAYER}: lost minus never known answers that it gives, points": 100 * back[OTHER_LAYER],
        f"{LAYERS_BACK}: the same": 100 * back[LAYERS_BACK],
        "savings of lost answers, points": 100 * saved[LOST],
        "savings of lost answers minus those of never known ones, points": 100 * (saved[LOST] - saved[NEVER_KNOWN]),
    }


def record(base: str = MODEL) -> Path:
    """Where the findings ship."""
    return SHIPPED / base / RECORD


def rows(base: str = MODEL) -> list[dict]:
    """The findings of the bases that ship, of both of a seed or of one."""
    return json.loads(record(base).read_text("utf-8"))["bases"] if record(base).is_file() else []


def _by_base(rows: Sequence[dict]) -> dict[Small, dict]:
    return {Small(row["layer_drop"], row["seed"]): row for row in rows}


def gather(say: Say = print) -> None:
    """Adds the findings of the bases that are done to those that ship, by seed."""
    shipped = rows()
    found = _by_base(shipped)
    for one in bases():
        if _findings_of(one).is_file():
            stored = json.loads(_findings_of(one).read_text("utf-8"))
            found[one] = {"layer_drop": one.layer_drop, "seed": one.seed, "findings": stored}
    ordered = [found[one] for one in bases() if one in found]
    if ordered != shipped:
        atomic_text(record(), json.dumps({"steps": STEPS, "bases": ordered}, indent=1) + "\n")
        say(f"wrote {record()}: {len(ordered)} of {len(bases())} bases")


def compared(rows: Sequence[Mapping]) -> Iterator[tuple[str, list[float], list[float], str]]:
    """Finding, its values with and without LayerDrop of the seeds that have both, and whether it is of the recipe: the
    values of all seeds do not overlap. While seeds are missing, how many there are."""
    seeds = seeds_of(rows)
    lacking = "" if len(seeds) == len(SEEDS) else f"{len(seeds)} of {len(SEEDS)} seeds"
    for name in rows[0]["findings"] if seeds else ():
        with_it, without = (
            [row["findings"][name] for row in rows if row["layer_drop"] == share and row["seed"] in seeds]
            for share in SHARES
        )
        apart = max(with_it) < min(without) or max(without) < min(with_it)
        yield name, with_it, without, lacking or ("of the recipe" if apart else "cannot tell")


def seeds_of(rows: Sequence[Mapping]) -> list[int]:
    """Seeds with a base of both kinds."""
    return [seed for seed in SEEDS if sum(row["seed"] == seed for row in rows) == len(SHARES)]
