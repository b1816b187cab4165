"""The shipped probes of edge probing, on nesia-mini, its random twin and its fine-tuned relatives."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from data.making.edge_files import SENTENCES, OwnRequest, ask_own_sentences, gather_probes, gather_results
from data.making.gather import has_runs
from probing.edges.ask import SHIPPED, probes_folder, read_probes
from probing.edges.requests import EdgeRecipe, EdgesRequest
from probing.edges.store import count_edges
from probing.edges.targets import AT, CONTROL, CUMULATIVE, TASK
from probing.edges.tasks import OPEN_TASKS
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder, snapshot_folder
from probing.kernel.models.arrays import FILE
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.provenance import RANDOM
from probing.kernel.registry import name_in_files
from probing.kernel.store.parquet import files_of, read_table, write_table

MODEL = "nesia-mini"
#: Half as wide as the authors' probes, to keep the files small.
RECIPE = EdgeRecipe(width=128, learning_rate=3e-3)
#: Of the tasks on a treebank, which have a hundred times the targets of the smallest, four passes instead of ten.
LARGE = EdgeRecipe(width=128, learning_rate=3e-3, most_checks=8)
_ON_EWT = ("pos", "dependencies", "constituents", "srl")
_WITH_CONTROLS = ("relations", "entities")
_SMALL = ("relations", "proto-roles", "entities", "coreference")
RELATIVES = ("nesia-mini-ner-conll", "nesia-mini-qa-squad-1", "nesia-mini-control")
#: Minutes of one processor for one probe of every layer.
_MINUTES = {"pos": 3.0, "dependencies": 3.0, "constituents": 8.0, "srl": 6.0}


def plan() -> list[EdgesRequest]:
    """The trainings, in order: tasks on the same sentences together, so that these are encoded once.

    Three seeds of the small tasks, from which the variance over seeds is estimated; one of the tasks on the treebank.
    """
    base = EdgesRequest(MODEL, recipe=RECIPE, probe_bits=8, threads=1, kinds=(CUMULATIVE,))
    large = replace(base, recipe=LARGE)
    found = [replace(base, tasks=(task,), seeds=3) for task in _SMALL]
    found += [replace(large, tasks=("pos", "dependencies")), replace(large, tasks=("constituents", "srl"))]
    found += [replace(base, tasks=(task,), encoder=RANDOM) for task in _SMALL]
    found.append(replace(large, tasks=_ON_EWT, encoder=RANDOM))
    found += [replace(base, tasks=(task,), labels=(CONTROL,)) for task in _WITH_CONTROLS]
    found += [replace(base, tasks=(task,), kinds=(AT,)) for task in _SMALL]
    return found + [
        replace(base, model=model, tasks=(task,)) for model in RELATIVES for task in ("relations", "entities")
    ]


def name_of(request: EdgesRequest) -> str:
    """What a training is called in the family's plan."""
    more = [
        *request.kinds,
        *(one for one in request.labels if one != TASK),
        *(["3 seeds"] if request.seeds == 3 else []),
    ]
    return f"edge probes of {', '.join(request.tasks)}: {request.model}, {request.encoder}, {', '.join(more)}"


def results() -> Path:
    """Folder of all results of edge probing."""
    return cache_folder() / "nesia-edges"


def minutes(request: EdgesRequest) -> float:
    """Minutes of one processor that a training takes, about."""
    probes = len(request.kinds) * len(request.labels) * request.seeds
    return sum(_MINUTES.get(task, 0.7) for task in request.tasks) * probes


def gather(say: Say = print) -> list[Path]:
    """Stores the results in the snapshot and the probes in ``data/edges``, and applies them to our own sentences.

    Shipped probes of tasks that were not trained here are kept if they are of this base, else deleted.
    """
    weights = open_encoder(MODEL, device="cpu").weights_id
    probes = probes_folder(cache_folder(), weights, "pos").parent
    trained = tuple(task for task in OPEN_TASKS if (probes / task / FILE).is_file())
    files = gather_results(results(), snapshot_folder(), say) if has_runs(results(), "edge_runs", say) else []
    for folder in (SHIPPED / MODEL).glob("*"):
        if read_probes(folder / FILE).weights != weights:
            shutil.rmtree(folder)
    files += gather_probes(probes, trained, SHIPPED / MODEL, say)
    if any((SENTENCES / f"{task}.jsonl").is_file() for task in trained):
        own = OwnRequest(MODEL, SHIPPED / MODEL, snapshot_folder(), cache_folder() / "downloads", tasks=trained)
        files += ask_own_sentences(own, say)
    return files + _count_again(snapshot_folder()) if files else []


def _count_again(folder: Path) -> list[Path]:
    """Writes what is counted of the predictions of all runs in a folder, one file per table and model."""
    names = ("edge_runs", "edge_predictions", "edge_targets", "edge_labels")
    tables = {name: pa.concat_tables([read_table(path, name) for path in files_of(name, folder)]) for name in names}
    found: dict[tuple[str, str], list[pa.Table]] = {}
    for row in tables["edge_runs"].to_pylist():
        of_run = {
            name: tables[name].filter(pc.equal(tables[name].column("run_id"), row["run_id"])) for name in names[:2]
        }
        if len(of_run["edge_predictions"]):
            for table, rows in count_edges(tables | of_run).items():
                found.setdefault((table, row["model"]), []).append(rows)
    return [
        write_table(table, pa.concat_tables(rows), folder / f"{table}-{name_in_files(model)}.parquet")
        for (table, model), rows in found.items()
    ]
