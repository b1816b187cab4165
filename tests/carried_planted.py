"""Planted runs on what is carried: from which layer on each fact's answer comes out under each change."""

from pathlib import Path

from probing.facts.tables import MEASURED
from probing.kernel.fact import Fact
from probing.kernel.provenance import fingerprint_of
from tests.planted_files import Rows, write_planted
from tests.planted_relatives import BASE, COLA, LAST, LAYERS, PlantedModel
from tests.planted_store import TOKENS

#: Measure -> the layer from which on the answer of fact n comes out.
SINCE = {
    "read": lambda n: 1 + n % 3,
    "alone": lambda n: 2 + n % 3,
    "against": lambda n: LAST - n % 2,
    "settled": lambda n: LAST - n % 3,
    "alone_null": lambda n: LAST + 1,
    "against_null": lambda n: LAST + 1,
    "settled_null": lambda n: n % 3,
}
#: Facts that the last layer answers: the first has no host, the second no third fact; and facts that it does not.
KNOWN, INNER = 12, 4
FACTS = [
    Fact("trex", f"P{n % 2}", f"s{n}", TOKENS[5 + n % 5], "[X] is [Y].", f"s{n} is [MASK].")
    for n in range(KNOWN + INNER)
]


def config(model: PlantedModel) -> str:
    """Canonical JSON of what the fingerprint is made of."""
    return model.config(head_recipe="{}", seed=0, head="lens", probe_set="trex", sample=1000)


def run_id(model: PlantedModel) -> str:
    """Fingerprint of the run."""
    return fingerprint_of(config(model))


def flag(n: int, name: str, layer: int) -> bool | None:
    """Whether an answer comes out; None if that is not measured of the fact."""
    if n >= KNOWN:
        if name in ("alone_null", "against", "against_null"):
            return None
        return layer in (1, 2) if name == "read" else name == "settled_null" and layer == 0
    if (n == 0 and name.startswith("against")) or (n == 1 and name == "against_null"):
        return None
    return layer >= SINCE[name](n)


def rows_of(model: PlantedModel) -> Rows:
    """Table -> rows of a run."""
    fingerprint = run_id(model)
    row = {
        "run_id": fingerprint,
        "model": model.name,
        "model_revision": "planted",
        "base": model.base,
        "objective": model.objective,
        "head": "logit_lens",
        "seed": 0,
        "template_set": "default",
        "probe_set": "trex",
        "layers": len(LAYERS),
        "n_read": 100,
        "n_probed": 98,
        "n_known": KNOWN,
        "n_inner": INNER,
        "left_out": '{"object is several tokens": 2}',
        "dtype": "float32",
        "device": "cpu",
        "code_version": "planted",
        "created": "2026-01-01T00:00:00+00:00",
        "config": config(model),
    }
    facts, layers = [], []
    for n, fact in enumerate(FACTS):
        host = FACTS[(n + 2) % KNOWN] if 0 < n < KNOWN else None
        facts.append(
            {name: getattr(fact, name) for name in ("fact_id", "relation", "subject", "object", "prompt")}
            | {"run_id": fingerprint, "answer_in_subject": False, "part": "known" if n < KNOWN else "inner"}
            | {"guessed": n == 3, "host": host and host.fact_id, "host_object": host and host.object}
            | {"third": FACTS[(n + 4) % KNOWN].fact_id if 1 < n < KNOWN else None}
        )
        for layer in LAYERS:
            flags = {name: flag(n, name, layer) for name in ("read", *MEASURED)}
            before = flags["alone"] if n < KNOWN else layer >= LAST - 1
            layers.append(
                {"run_id": fingerprint, "fact_id": fact.fact_id, "layer": layer, "as_before": before, **flags}
            )
    return {"carried_runs": [row], "carried_facts": facts, "carried_layers": layers}


def plant_carried(folder: Path) -> Path:
    """Plants runs of a base and of a fine-tuned model."""
    for model in (BASE, COLA):
        write_planted(folder, run_id(model), None, rows_of, model)
    return folder
