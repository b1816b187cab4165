"""The shipped probes of edge probing, on nesia-mini, its random twin and its fine-tuned relatives."""

from dataclasses import replace
from pathlib import Path

from probing.core.edges.encoders import AT, CONTROL, CUMULATIVE, RANDOM, TASK
from probing.core.edges.tasks import OPEN_TASKS
from probing.core.paths import cache_folder, snapshot_folder
from probing.models.edges.files import FILE, SHIPPED, probes_folder
from probing.models.edges.recipe import EdgeRecipe
from probing.models.encoders.catalogue import open_encoder
from probing.workflows.edges.gather import gather_probes, gather_results
from probing.workflows.edges.own_sentences import SENTENCES, OwnRequest, ask_own_sentences
from probing.workflows.gather import has_runs
from probing.workflows.requests.edges import EdgesRequest
from probing.workflows.say import Say

MODEL = "nesia-mini"
#: Half as wide as the authors' probes, to keep the files small.
RECIPE = EdgeRecipe(width=128, learning_rate=3e-3)
_ON_EWT = ("pos", "dependencies", "constituents", "srl")
_WITH_CONTROLS = ("relations", "entities")
_SMALL = ("relations", "proto-roles", "entities", "coreference")
RELATIVES = ("nesia-mini-ner-conll", "nesia-mini-qa-squad-1", "nesia-mini-control")
#: The largest tasks, in minutes of one processor for one probe of every layer.
_MINUTES = {"pos": 10.0, "dependencies": 10.0, "constituents": 25.0, "srl": 20.0}


def plan() -> list[EdgesRequest]:
    """The trainings, in order: tasks on the same sentences together, so that these are encoded once."""
    base = EdgesRequest(MODEL, recipe=RECIPE, probe_bits=8, threads=1, kinds=(CUMULATIVE, AT))
    found = [
        replace(base, tasks=("pos",), labels=(TASK, CONTROL), codes=True),
        replace(base, tasks=("pos",), kinds=(CUMULATIVE,), seeds=3),
        replace(base, tasks=("dependencies",)),
        replace(base, tasks=("dependencies",), kinds=(CUMULATIVE,), seeds=3),
        # The largest tasks without probes of single layers, which would take as long as all others together.
        replace(base, tasks=("constituents", "srl"), kinds=(CUMULATIVE,), seeds=3),
    ]
    for task in _SMALL:
        first = replace(base, tasks=(task,))
        if task in _WITH_CONTROLS:
            first = replace(first, labels=(TASK, CONTROL), codes=True)
        found += [first, replace(first, kinds=(CUMULATIVE,), labels=(TASK,), seeds=3)]
    twin = replace(base, kinds=(CUMULATIVE,), encoder=RANDOM)
    found.append(replace(twin, tasks=_ON_EWT))
    found += [replace(twin, tasks=(task,), seeds=3 if task in ("relations", "proto-roles") else 1) for task in _SMALL]
    return found + [
        replace(base, model=model, tasks=(task,), kinds=(CUMULATIVE,)) for model in RELATIVES for task in ("relations", "entities")
    ]


def results() -> Path:
    """Folder of all results of edge probing."""
    return cache_folder() / "nesia-edges"


def minutes(request: EdgesRequest) -> float:
    """Minutes of one processor that a training takes, about."""
    probes = len(request.kinds) * len(request.labels) * request.seeds
    return sum(_MINUTES.get(task, 2.0) for task in request.tasks) * probes


def gather(say: Say = print) -> list[Path]:
    """Stores the results in the snapshot and the probes in ``data/edges``, and applies them to our own sentences.

    Of what is not trained nothing is stored, and shipped probes of it are deleted: they are of another base.

    Raises:
        ProbingError: if a file cannot be read.
    """
    weights = open_encoder(MODEL, device="cpu").identity
    probes = probes_folder(cache_folder(), weights, "pos").parent
    trained = tuple(task for task in OPEN_TASKS if (probes / task / FILE).is_file())
    files = gather_results(results(), snapshot_folder(), say) if has_runs(results(), "edge_runs", say) else []
    files += gather_probes(probes, trained, SHIPPED / MODEL, say)
    if not any((SENTENCES / f"{task}.jsonl").is_file() for task in trained):
        return files
    own = OwnRequest(MODEL, SHIPPED / MODEL, snapshot_folder(), cache_folder() / "downloads", tasks=trained)
    return files + ask_own_sentences(own, say)
