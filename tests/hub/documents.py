"""What the documents' commands meet: tiny data sets in their real formats, tiny models under their real names and at
their real commits, and the files of a user's own that the text speaks of.
"""

import hashlib
import re
import shutil
import tarfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import peft
import transformers
from safetensors.torch import load_file, save_file

from probing.kernel.registry import REGISTRY, ModelEntry, read_registry
from probing.kernel.registry import REPOSITORY as ROOT
from tests import tiny_models
from tests.edges import edge_files
from tests.finetuning import task_files
from tests.hub import contents
from tests.hub.server import Hub, Repository
from tests.sentences import sentence_files

_CAPITALS = (("France", "Paris"), ("Germany", "Berlin"), ("Italy", "Rome"), ("England", "London"), ("Spain", "Madrid"))
#: Form, universal tag, tag, head and arc of the words of a sentence; two forms differ from sentence to sentence.
_SENTENCE = "The DET DT 2 det|{0} NOUN NN 3 nsubj|sings VERB VBZ 0 root|in ADP IN 6 case|the{1} DET DT 6 det|" + (
    "city NOUN NN 3 obl|. PUNCT . 3 punct"
)
_PARTS = ("train", "dev", "test")


def _treebank(part: int) -> str:
    """A part of UD English EWT."""
    lines = ["# newdoc id = walk"]
    for number in range(part, 240, 3):
        lines.append(f"# sent_id = {_PARTS[part]}-{number}")
        words = _SENTENCE.format(tiny_models.WORDS[number % 5], number // 5).split("|")
        for at, (form, universal, tag, head, arc) in enumerate((word.split() for word in words), 1):
            lines.append(f"{at}\t{form}\t{form}\t{universal}\t{tag}\t_\t{head}\t{arc}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


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
    cities = [(n, *pair) for n in range(60) for pair in _CAPITALS]
    lines = "".join(f" The capital of {place} is {city} and the sun of {n} is red . \n" for n, place, city in cities)
    # Trained heads learn from 30,000 masked positions and are validated at 8,192; perplexity is of 300 blocks.
    for name, times in (("train.txt", 50), ("valid.txt", 14), ("test.txt", 1), ("wiki.test.raw", 9)):
        (text / name).write_text(lines * times)
    edge_files.write_ewt(folder / "ud-english-ewt", **{part: _treebank(n) for n, part in enumerate(_PARTS)})
    edge_files.write_propbank(folder / "ewt-propbank")
    edge_files.write_gum(folder / "gum", {"GUM_news_a": edge_files.PLAIN})
    ids = {f"ewt-{part}-1": f"{part}-{n}" for n, part in enumerate(_PARTS)}
    pairs = {key: {(3, 2): {"volition": edge_files.answers((4, 1))}} for key in ids}
    edge_files.write_proto_roles(folder / "spr2-uds", pairs, ids)
    (relations := folder / "semeval2010-task8").mkdir()
    rows = [(f"The <e1>sun</e1> is a <e2>moon</e2> {n} .", f"Component-Whole(e{n % 2 + 1},e1)") for n in range(40)]
    for name in ("TRAIN_FILE.TXT", "TEST_FILE_FULL.TXT"):
        (relations / name).write_bytes(edge_files.semeval(*rows))
    stems = ["bigram_shift", "coordination_inversion", "past_present", "subj_number", "tree_depth"]
    for stem, labels in zip(stems, ("IO", "IO", ("Past", "Pres"), ("Sing", "Plur"), "56"), strict=True):
        texts, parts = sentence_files.sentences(80, tuple(labels)), ("va", "te") if labels == "IO" else ("te",)
        sentence_files.x_probe(folder / "senteval-like-xprobe-en", stem, texts, parts)
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
    """BERT-base and what the hub has of its family, with the heads of their tasks, and OWNER/NAME."""
    heads = {"QA": "ForQuestionAnswering", "RANK": "ForSequenceClassification", "NER": "ForTokenClassification"}
    owned = ModelEntry(name="bert-base", source="OWNER/NAME", licence="")
    for entry in [owned, *read_registry(REGISTRY).models]:
        if not re.match("(pt-)?bert-base", entry.name):
            continue
        there = write_model(folder / entry.source)
        if head := heads.get(entry.objective.partition("-")[0]):
            getattr(transformers, f"AutoModel{head}").from_pretrained(there).save_pretrained(there)
        files = contents.of_folder(there)
        made = hub.kept["model", entry.source] = Repository("model", entry.source)
        made.commit(contents.as_bin(files) if "nboost" in entry.source else files, entry.revision)
        made.refs["step-1000"] = made.refs["main"]


def write_model(folder: Path, says: str = "paris") -> Path:
    """A BERT of two layers that says the same word in every gap."""
    tiny_models.save("bert", folder, max_position_embeddings=512, num_hidden_layers=2)
    weights = load_file(folder / contents.SAFE)
    weights["cls.predictions.bias"][tiny_models.wordpiece().convert_tokens_to_ids(says)] += 99
    save_file(weights, folder / contents.SAFE, {"format": "pt"})
    return folder


def write_repository(folder: Path) -> Path:
    """The repository with every third fact, and tiny models in the place of those that ship, of which nothing is
    stored and nothing trained; the fine-tuned ones say another word than their base.
    """
    shipped = ROOT / "data" / "facts"
    for path in [shipped / "relations.toml", *shipped.rglob("*.jsonl")]:
        (there := folder / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        there.write_text("".join(path.read_text().splitlines(True)[:: 3 if path.suffix == ".jsonl" else 1]))
    (folder / "data" / "published").symlink_to(ROOT / "data" / "published")
    for entry in read_registry(REGISTRY).models:
        if entry.shipped:
            write_model(folder / entry.source, "rome" if entry.base else "paris")
    return folder


def write_own(folder: Path) -> None:
    """The files and models of a user that the documents name."""
    for name in (
        "my-bert",
        "path/to/my-bert",
        "my-bert-ner",
        "my-model",
        "support-bert",
        "sales-bert",
        "my-fine-tuned",
    ):
        write_model(folder / name, "paris" if name.endswith("my-bert") else "rome")
    base = transformers.AutoModelForMaskedLM.from_pretrained(folder / "my-bert")
    peft.get_peft_model(base, peft.LoraConfig(target_modules=["query"])).save_pretrained(folder / "support-lora")
    shutil.copytree(folder / "support-lora", folder / "path" / "to" / "my-lora")
    rows = [(place, "capital", city, f"The capital of {place} is [MASK].") for place, city in _CAPITALS]
    rows += [(name, "born", "Paris", f"{name} was born in [MASK].") for name in ("Rocky", "Balboa", "Moon")]
    rows += [("Rocky", "lives", city, "Rocky lives in [MASK].") for city in ("New York City", "Boston")]
    lines = ["subject,relation,object,prompt", *map(",".join, rows)]
    for name in ("my.csv", "my-facts.csv"):
        (folder / name).write_text("\n".join(lines))
    sentence_files.tsv(folder / "my-sentences.tsv", sentence_files.sentences(80, ("agrees", "fails")))
