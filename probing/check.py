"""Verifies every kind of stored file: registry, facts, published tables, data, models, heads, probes and runs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from safetensors import SafetensorError, safe_open

from probing.changes.minimal_pairs import read_minimal_pairs
from probing.edges.ask import SHIPPED as EDGE_PROBES
from probing.edges.ask import read_probes as read_edge_probes
from probing.edges.published import PublishedEdges
from probing.facts.published import PublishedFacts
from probing.facts.sources import read_facts
from probing.heads.files import head_path, read_identity, read_weights, refuse_damage
from probing.kernel.errors import ProbingError, Say, StoreError
from probing.kernel.fact import PHRASES, shipped_relations
from probing.kernel.files import cache_folder, differing_files, file_sha256, result_folders
from probing.kernel.models.catalogue import open_entry
from probing.kernel.models.hub import joint_weights_id, weights_id_of
from probing.kernel.models.names import FINETUNING, base_entry, find_entry, finetuning_note
from probing.kernel.provenance import stored_configuration
from probing.kernel.registry import REPOSITORY, ModelEntry, has_data, read_registry
from probing.kernel.store.check import check_store
from probing.kernel.store.kinds import RUNS_OF_FILES
from probing.kernel.store.parquet import files_of, read_table
from probing.kernel.store.seals import SHIPPED
from probing.kernel.version import __version__
from probing.sentences.probes import SHIPPED as SENTENCE_PROBES
from probing.sentences.probes import read_probes as read_sentence_probes
from probing.sentences.published import PublishedSentences

#: Folder of a model -> identity of its weights.
Identity = Callable[[str], str]


def check(runs: Sequence[Path] = (), say: Say = print) -> Iterator[tuple[str, list[str]]]:
    """Verifies part by part, reading every stored file: the part's title, and a sentence for each problem.

    ``say`` gets the title before a part is verified, which can take minutes with large models or many runs. Without
    ``runs``, the usual folders of runs are verified.
    """
    folders = [folder for folder in runs if folder.is_dir()] if runs else result_folders()
    # Heads and fine-tuned models ask for the same bases again and again.
    identity = cache(weights_id_of)
    looks: dict[str, Callable[[], list[str]]] = {
        "shipped files": _shipped_problems,
        "registry and shipped facts": _facts_problems,
        "published tables and minimal pairs": _paper_problems,
        "fetched data": _data_problems,
        "models": lambda: _model_problems(folders, identity),
        "heads": lambda: _head_problems(identity),
        "edge and sentence probes": _probe_problems,
        "runs": lambda: check_store(folders),
    }
    if not has_data():
        # An installation without the repository's data has no shipped facts and tables that could be wrong.
        del looks["shipped files"], looks["registry and shipped facts"], looks["published tables and minimal pairs"]
        looks = {"registry (facts and models ship with the repository, which is not here)": _registry_problems} | looks
    for title, look in looks.items():
        say(f"{title} …")
        yield title, look()


def _registry_problems() -> list[str]:
    try:
        read_registry()
    except ProbingError as error:
        return [str(error)]
    return []


def _shipped_problems() -> list[str]:
    """Every shipped file is the one that was shipped."""
    try:
        return [
            f"{path} is {how}; restore {REPOSITORY / 'data'} as it was shipped"
            for path, how in differing_files(SHIPPED)
        ]
    except (OSError, UnicodeDecodeError) as error:
        return [f"cannot read {SHIPPED}: {error}; restore it as it was shipped"]


def _facts_problems() -> list[str]:
    try:
        read_registry()
        for facts in ("all", PHRASES):
            read_facts(facts, shipped_relations())
    except ProbingError as error:
        return [str(error)]
    return []


def _data_problems() -> list[str]:
    problems = []
    for entry in read_registry().data:
        folder = cache_folder() / "downloads" / entry.name
        if not folder.is_dir():
            continue
        for file in entry.files:
            path = folder / file.path
            if not path.is_file() and file.sha256:
                problems.append(f"{path} is missing; fetch it again: python -m probing fetch {entry.name}")
            elif file.sha256 and file_sha256(path) != file.sha256:
                problems.append(
                    f"{path} does not match its recorded sha256; fetch it again: python -m probing fetch {entry.name}"
                )
    return problems


def _head_problems(identity_of: Identity) -> list[str]:
    """Every trained head, shipped and own: its recorded checksum, and that it belongs to its folder."""
    problems: list[str] = []
    own = sorted((cache_folder() / "heads").glob("*/*/layer-*.safetensors"))
    for weights, path in [*_shipped_heads(problems, identity_of), *((None, path) for path in own)]:
        try:
            identity = read_identity(path)
            refuse_damage(path, identity, read_weights(path))
        except (ProbingError, OSError, SafetensorError) as error:
            problems.append(_unreadable(path, error))
            continue
        here = {
            identity_part[:16]
            for identity_part in (identity.weights, joint_weights_id(identity.weights, identity.configuration))
        }
        kind = path.parent.name if weights else path.parent.name.rpartition("-seed")[0]
        if identity.weights != weights if weights else path.parts[-3] not in here:
            problems.append(
                f"{path} belongs to other weights, {identity.weights[:16]} of {identity.model}; move or delete it"
            )
        elif (path, kind) != (head_path(path.parent, identity.layer), identity.kind):
            problems.append(f"{path} is the {identity.kind} head of layer {identity.layer}; move or delete it")
    return problems


def _shipped_heads(problems: list[str], identity_of: Identity) -> Iterator[tuple[str, Path]]:
    """Identity of the weights that a shipped head must belong to, and its file."""
    for entry in _shipped():
        try:
            weights = _identities(entry, identity_of)[-1]
        except (ProbingError, OSError) as error:
            problems.append(str(error))
            continue
        yield from ((weights, path) for path in sorted(Path(entry.location, "heads").glob("*/layer-*.safetensors")))


def _shipped() -> list[ModelEntry]:
    """The models that ship with the repository, where this installation has it."""
    return [entry for entry in read_registry().models if entry.shipped and has_data()]


def _identities(entry: ModelEntry, identity_of: Identity) -> list[str]:
    """The identity of a model's weights and, if it has a base, of both together, which is the one that runs record."""
    identities, base = [identity_of(entry.location)], base_entry(entry)
    return identities if base is None else [*identities, joint_weights_id(identities[0], identity_of(base.location))]


def _probe_problems() -> list[str]:
    """Every file of probes, shipped and own: its checksum, and that it lies in the folder of its weights and task."""
    problems = []
    readers = (("edges", EDGE_PROBES, read_edge_probes), ("sentences", SENTENCE_PROBES, read_sentence_probes))
    for kind, shipped, read in readers:
        for root in (shipped, cache_folder() / kind):
            for path in sorted(root.glob("*/*/probes.safetensors")):
                try:
                    probes = read(path)
                except ProbingError as error:
                    problems.append(str(error))
                    continue
                weights = getattr(probes, "weights" if kind == "edges" else "weights_id")
                if probes.task != path.parts[-2] or (root != shipped and path.parts[-3] != weights[:16]):
                    problems.append(
                        f"{path} holds probes of {probes.task} for the weights {weights[:16]}; move or delete it"
                    )
    return problems


def _model_problems(folders: Sequence[Path], identity_of: Identity) -> list[str]:
    """Every model here that the project ships or made: its files can be read, and stored runs are of these weights."""
    problems = []
    recorded = _recorded_weights(folders)
    own = sorted(path.parent for path in (cache_folder() / "models").glob("*/config.json"))
    for where in [entry.name for entry in _shipped()] + [str(folder) for folder in own]:
        try:
            entry = find_entry(where)
            for path in sorted(Path(entry.location).glob("*.safetensors")):
                with safe_open(path, framework="numpy") as stream:
                    stream.keys()
            finetuning = Path(entry.location, FINETUNING)
            if finetuning.is_file():
                finetuning_note(finetuning.parent)
            identities, known = _identities(entry, identity_of), recorded.get(entry.name, {})
            made_with = set().union(*(known.get(identity, ()) for identity in identities))
            # A shipped one is compared by its bytes.
            configuration = open_entry(entry, "cpu").configuration if made_with and not entry.shipped else ""
        except SafetensorError as error:
            problems.append(_unreadable(path, error))
        except (ProbingError, OSError) as error:
            problems.append(str(error))
        else:
            if known and not set(known).intersection(identities):
                other = ", ".join(identity[:12] for identity in sorted(known))
                problems.append(
                    f"{entry.location}: the stored runs of {entry.name} are of other weights ({other}) than it has now "
                    f"({identities[-1][:12]}); restore the model, or probe it again under another --name"
                )
            elif configuration and configuration not in made_with:
                problems.append(
                    f"{entry.location}: the configuration or tokenizer of {entry.name} is other than that of its stored"
                    " runs, so that it answers otherwise; restore config.json and the tokenizer's files, or probe it"
                    " again under another --name"
                )
    return problems


def _recorded_weights(folders: Sequence[Path]) -> dict[str, dict[str, set[str]]]:
    """Model -> identity of the weights in its stored runs -> digests of its configuration, as computed now.

    Files that cannot be read are reported elsewhere.
    """
    names: dict[str, dict[str, set[str]]] = {}
    for folder in folders:
        for table in RUNS_OF_FILES:
            for path in files_of(table, folder):
                with suppress(StoreError):
                    rows = read_table(path, table, ["model", "config"])
                    for model, config in zip(
                        *(rows.column(name).to_pylist() for name in ("model", "config")), strict=True
                    ):
                        made = stored_configuration(config)
                        if weights := str(made.get("weights", "")):
                            digests = names.setdefault(model, {}).setdefault(weights, set())
                            if made.get("code_version") == __version__ and made.get("configuration"):
                                digests.add(made["configuration"])
    return names


def _paper_problems() -> list[str]:
    problems = []
    for read in (PublishedFacts.read, PublishedEdges.read, PublishedSentences.read, read_minimal_pairs):
        try:
            read()
        except ProbingError as error:
            problems.append(str(error))
    return problems


def _unreadable(path: Path, error: Exception) -> str:
    message = str(error)
    return message if str(path) in message else f"cannot read {path}: {message}; delete it, and make or fetch it again"
