"""What the documents' commands meet on a stranger's machine: tiny data sets under their real addresses and formats, tiny
models under their real names and commits, and the files of a user's own that the text speaks of.
"""

import hashlib
import itertools
import shutil
import tarfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import peft
import transformers
from safetensors.torch import load_file, save_file

from probing.kernel.registry import REGISTRY, REPOSITORY, ModelEntry, read_registry
from tests import tiny_models
from tests.edges import edge_files
from tests.finetuning import task_files
from tests.hub import contents
from tests.hub.server import Hub, Repository
from tests.sentences import sentence_files

_CAPITALS = (("France", "Paris"), ("Germany", "Berlin"), ("Italy", "Rome"), ("England", "London"), ("Spain", "Madrid"))
#: Forms, universal tags and tags of a sentence of the treebank; the noun differs from sentence to sentence.
_WORDS = (("The", "DET", "DT"), ("{}", "NOUN", "NN"), ("sings", "VERB", "VBZ"), ("in", "ADP", "IN")) + (
    ("the", "DET", "DT"),
    ("city", "NOUN", "NN"),
    (".", "PUNCT", "."),
)
_ARCS = ((2, "det"), (3, "nsubj"), (0, "root"), (6, "case"), (6, "det"), (3, "obl"), (3, "punct"))


def _treebank(folder: Path, sentences: int = 240) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for place, part in enumerate(("train", "dev", "test")):
        lines = ["# newdoc id = walk"]
        for number in range(place, sentences, 3):
            noun, very = tiny_models.WORDS[number % 5], number // 5
            lines.append(f"# sent_id = {part}-{number}")
            rows = zip(_WORDS, _ARCS, strict=True)
            for at, ((form, universal, tag), (head, arc)) in enumerate(rows, 1):
                form = f"the{very}" if at == 5 else form.format(noun)
                lines.append(f"{at}\t{form}\t{form}\t{universal}\t{tag}\t_\t{head}\t{arc}\t_\t_")
            lines.append("")
        (folder / f"en_ewt-ud-{part}.conllu").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_data(folder: Path) -> Path:
    """The data sets, as ``--from FOLDER`` expects them."""
    task_files.write_conll(folder / "conll2003")
    task_files.write_glue(folder)
    squad = task_files.write_squad(folder / "squad")
    for version in ("1.1", "2.0"):
        for part in ("train", "dev"):
            (squad / f"{part}-v{version}.json").write_bytes((squad / f"some-v{version}.json").read_bytes())
    (lists := folder / "msmarco").mkdir()
    queries = range(6)
    (lists / "triples.train.small.tsv").write_text("".join(f"city {q}\tParis {q}\tjazz {q}\n" for q in queries))
    top = [f"{q}\t{q}{n}\tcity {q}\tParis {n} of {q}\n" for q in queries for n in range(10)]
    (lists / "top1000.dev.tsv").write_text("".join(top))
    (lists / "qrels.dev.small.tsv").write_text("".join(f"{q}\t0\t{q}1\t1\n" for q in queries))
    (text := folder / "wikitext-2").mkdir()
    lines = [
        f" The capital of {place} is {city} and the sun of {n} is red . \n"
        for n in range(60)
        for place, city in _CAPITALS
    ]
    # Trained heads learn from 30,000 masked positions, and are validated at 5,000.
    for name, times in (("train.txt", 50), ("valid.txt", 9), ("test.txt", 1), ("wiki.test.raw", 1)):
        (text / name).write_text("".join(lines) * times)
    _treebank(folder / "ud-english-ewt")
    edge_files.write_propbank(folder / "ewt-propbank")
    edge_files.write_gum(folder / "gum", {"GUM_news_a": edge_files.PLAIN})
    pairs = {(3, 2): {"volition": edge_files.answers((4, 1))}}
    parts = ("train", "dev", "test")
    edge_files.write_proto_roles(
        folder / "spr2-uds",
        {f"ewt-{part}-1": pairs for part in parts},
        {f"ewt-{part}-1": f"{part}-{place}" for place, part in enumerate(parts)},
    )
    (relations := folder / "semeval2010-task8").mkdir()
    rows = [(f"The <e1>sun</e1> is a <e2>moon</e2> {n} .", f"Component-Whole(e{n % 2 + 1},e1)") for n in range(40)]
    for name in ("TRAIN_FILE.TXT", "TEST_FILE_FULL.TXT"):
        (relations / name).write_bytes(edge_files.semeval(*rows))
    for stem, labels, of in (
        ("bigram_shift", ("I", "O"), ("va", "te")),
        ("coordination_inversion", ("I", "O"), ("va", "te")),
        ("past_present", ("Past", "Pres"), ("te",)),
        ("subj_number", ("Sing", "Plur"), ("te",)),
        ("tree_depth", ("5", "6"), ("te",)),
    ):
        texts = sentence_files.sentences(80, labels)
        sentence_files.x_probe(folder / "senteval-like-xprobe-en", stem, texts, of)
    for name in ("ud-english-ewt/LICENSE.txt", "gum/LICENSE.txt", "spr2-uds/LICENSE"):
        (folder / name).write_text("none")
    return folder


def serve_data(folder: Path, registry: Path) -> ThreadingHTTPServer:
    """Serves the data sets, and writes the program's registry with the addresses there and the files' checksums."""
    handler = partial(type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None}), directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    text, address = REGISTRY.read_text(encoding="utf-8"), f"http://127.0.0.1:{server.server_port}"
    for entry in read_registry(REGISTRY).data:
        for file in entry.files:
            path = folder / entry.folder / file.path
            if file.sha256 and path.is_file():
                text = text.replace(file.sha256, hashlib.sha256(path.read_bytes()).hexdigest())
            if file.url.endswith(".tar.gz"):
                with tarfile.open(path := path.with_suffix(".tar.gz"), "w:gz") as archive:
                    archive.add(folder / entry.folder / file.path, file.path)
            if file.url:
                text = text.replace(file.url, f"{address}/{path.relative_to(folder).as_posix()}")
    registry.write_text(text, encoding="utf-8")
    return server


def serve_models(hub: Hub, folder: Path) -> None:
    """The models of the registry that the hub has, with the heads of their tasks, and OWNER/NAME."""
    heads = {"QA": "ForQuestionAnswering", "RANK": "ForSequenceClassification", "NER": "ForTokenClassification"}
    owned = ModelEntry(name="NAME", source="OWNER/NAME", licence="")
    for entry in [*(one for one in read_registry(REGISTRY).models if not one.shipped), owned]:
        kinds = ("distilbert", "roberta", "albert", "electra", "bert")
        kind = next((kind for kind in kinds if kind in entry.name.casefold()), "bert")
        there = write_model(folder / entry.name, kind)
        if head := heads.get(entry.objective.partition("-")[0]):
            getattr(transformers, f"AutoModel{head}").from_pretrained(there).save_pretrained(there)
        files = contents.of_folder(there)
        made = hub.kept["model", entry.source] = Repository("model", entry.source)
        made.commit(contents.as_bin(files) if "nboost" in entry.source else files, entry.revision)
        made.refs["step-1000"] = made.refs["main"]


def write_model(folder: Path, kind: str = "bert", says: str = "paris") -> Path:
    """A model of two layers; a BERT says the same word in every gap."""
    room = {"max_position_embeddings": 514 if kind == "roberta" else 512}
    layers = {"n_layers" if kind == "distilbert" else "num_hidden_layers": 2}
    tiny_models.save(kind, folder, **room, **layers)
    if kind == "bert":
        weights = load_file(folder / contents.SAFE)
        weights["cls.predictions.bias"][tiny_models.wordpiece().convert_tokens_to_ids(says)] += 99
        save_file(weights, folder / contents.SAFE, {"format": "pt"})
    return folder


def write_repository(folder: Path) -> Path:
    """The repository with tiny models in the place of those that ship, of which nothing is stored and nothing trained;
    the fine-tuned ones say another word than their base.
    """
    for place in (REPOSITORY / "data").iterdir():
        if place.name not in ("models", "snapshot"):
            (folder / "data").mkdir(parents=True, exist_ok=True)
            (folder / "data" / place.name).symlink_to(place)
    for entry in read_registry(REGISTRY).models:
        if entry.shipped:
            write_model(folder / entry.source, says="rome" if entry.base else "paris")
    return folder


#: Name of a folder -> what the model says in every gap.
_OWN = {"my-bert": "paris", "path/to/my-bert": "paris", "my-bert-ner": "rome", "my-model": "rome"} | {
    "support-bert": "rome",
    "sales-bert": "berlin",
    "my-fine-tuned": "rome",
}


def write_own(folder: Path) -> None:
    """The files and models of a user that the documents name."""
    for name, says in _OWN.items():
        write_model(folder / name, says=says)
    base = transformers.AutoModelForMaskedLM.from_pretrained(folder / "my-bert")
    peft.get_peft_model(base, peft.LoraConfig(target_modules=["query"])).save_pretrained(folder / "support-lora")
    shutil.copytree(folder / "support-lora", folder / "path" / "to" / "my-lora")
    rows = [(place, "capital", city, f"The capital of {place} is [MASK].") for place, city in _CAPITALS]
    rows += [(name, "born", "Paris", f"{name} was born in [MASK].") for name in ("Rocky", "Balboa", "Moon")]
    rows += [("Rocky", "lives", city, "Rocky lives in [MASK].") for city in ("New York City", "Boston")]
    pairs = itertools.islice(itertools.permutations(tiny_models.WORDS[-12:], 2), 60)
    # What comes back is asked of models that lost 50 facts at least.
    many = [(f"{a} {b}", "home", "Paris", f"{a} and {b} is in [MASK].") for a, b in pairs]
    for name, facts in (("my.csv", rows), ("my-facts.csv", rows + many)):
        lines = [",".join(row) + "\n" for row in [("subject", "relation", "object", "prompt"), *facts]]
        (folder / name).write_text("".join(lines))
    sentence_files.tsv(folder / "my-sentences.tsv", sentence_files.sentences(80, ("agrees", "fails")))
