"""Every command and every block of Python that README and the documents print runs word by word: from an empty folder
and empty caches, with nothing to reach but the stand-ins of the hub and of the data sets' owners.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probing.kernel.registry import REPOSITORY as ROOT
from tests.hub import documents
from tests.hub.server import Hub

pytestmark = pytest.mark.slow

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: How a command begins -> why it cannot run here.
NOT_HERE = {
    r"make |(\.venv/bin/)?pip install|python3 -m venv": "makes an environment: tests/test_packaging.py",
    r"HF_HUB_OFFLINE=1 \.venv|hf |git ": "a server that stays, and Spaces of the hub: tests/kernel/test_start.py",
    r"export |head=|srun |python .* --address auto": "a cluster: tests/jobs",
    r"python -m (pytest|tests)": "these tests, and make bench",
}
#: Documents whose commands compute with nesia-mini; they run with a tiny model under its name, and nothing stored: on
#: tiny data sets, results would contradict those that ship.
SMALL = ("carried.md", "changes.md", "edges.md", "finetuning.md", "forgetting.md", "heads.md", "sentences.md")
#: Their commands that read what ships.
OF_WHAT_SHIPS = r".* (edges trace|sentences ask|changes report|sentences report changes) "
#: Document -> what its text says was done before.
BEFORE: dict[str, tuple[str, ...]] = {
    "forgetting.md": (
        "python -m probing fetch conll2003 wikitext-2",
        "python -m probing finetune --model nesia-mini --objective ner-conll --checkpoints 2",
    ),
    "own-model.md": ("python -m probing fetch OWNER/NAME",),
    "sharing.md": (
        "python -m probing fetch wikitext-2 ud-english-ewt",
        "python -m probing train-heads --model bert-base-uncased --head least_squares",
        "python -m probing probe --model bert-base-uncased --facts questions --head logit_lens",
        "python -m probing edges train --model bert-base-uncased --tasks pos",
        "python -m probing sentences train --model bert-base-uncased --tasks odd-man-out --protocol quick",
        "python -m probing forgetting recover --model my-fine-tuned --base bert-base-uncased --facts trex --ways head",
    ),
}
#: Document -> number of a block of Python -> the lines before it, which have what the text takes as given.
GIVEN = {
    "api.md": {
        0: """
import plotly.graph_objects, transformers
kinds = transformers.AutoModelForMaskedLM, transformers.AutoTokenizer
bert, tokenizer = (kind.from_pretrained("my-bert") for kind in kinds)
facts, f1_of = "my.csv", lambda model, tokenizer: 0.5
plotly.graph_objects.Figure.write_image = lambda figure, name: None  # It needs a browser.
""",
        1: 'model = probing.load("nesia-mini")  # the only one with trained probes\n',
    },
    "forgetting.md": {
        0: """
from transformers import AutoModelForMaskedLM, AutoTokenizer, Trainer, TrainingArguments
model, tokenizer = AutoModelForMaskedLM.from_pretrained("my-bert"), AutoTokenizer.from_pretrained("my-bert")
row = dict(tokenizer("The capital of France is Paris."))
rows = [row | {"labels": row["input_ids"]}] * 8
arguments = TrainingArguments("out", max_steps=2, report_to=[], use_cpu=True)
"""
    },
}
#: First in every process: only the loopback can be reached, and an upload, which the stand-in does not take, goes to a
#: folder that it serves.
FIRST = """
import os, shutil, socket, sys, types
def connect(self, address, connect=socket.socket.connect):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"a connection to {address}")
    return connect(self, address)
socket.socket.connect = connect
if "push" in sys.orig_argv:
    from huggingface_hub import HfApi
    def upload_folder(self, *, repo_id, folder_path, repo_type, **more):
        shutil.copytree(folder_path, f"{os.environ['WORLD']}/pushed/{repo_type}/{repo_id}")
        return types.SimpleNamespace(oid="COMMIT")
    HfApi.create_repo, HfApi.upload_folder = lambda self, **more: None, upload_folder
"""


def printed(path: Path) -> tuple[list[str], list[str]]:
    """The commands and the blocks of Python, in the order of the document; a block of another language is neither."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    shell = [re.sub(r"\\\n\s*", "", block) for language, block in blocks if language in ("", "shell")]
    lines = [line for block in shell for line in block.splitlines() if line.strip()]
    return lines, [block for language, block in blocks if language == "python"]


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[tuple[Path, Hub, dict[str, str]]]:
    """A folder, the hub, and the environment of a machine that reaches the stand-ins only."""
    folder, hub = tmp_path_factory.mktemp("world"), Hub()
    documents.serve_models(hub, folder / "models")
    documents.write_own(folder / "own")
    documents.write_repository(folder / "small")
    server = documents.serve_data(documents.write_data(folder / "FOLDER"), folder / "registry.toml")
    (folder / "first").mkdir()
    (folder / "first" / "sitecustomize.py").write_text(FIRST)
    unset = ("HF_HUB_OFFLINE", "HF_TOKEN", "PROBING_SNAPSHOT", "PROBING_MODELS")
    yield (
        folder,
        hub,
        {name: value for name, value in os.environ.items() if name not in unset}
        | {
            "HF_ENDPOINT": hub.address,
            "PROBING_REGISTRY": str(folder / "registry.toml"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": f"{folder / 'first'}:{ROOT}",
            "WORLD": str(folder),
        },
    )
    hub.close()
    server.shutdown()


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if any(printed(path))], ids=lambda path: path.name)
def test_what_a_document_prints_runs(path, world, tmp_path):
    folder, hub, environment = world
    for place in [*(folder / "own").iterdir(), folder / "FOLDER", ROOT / "docs"]:
        (tmp_path / place.name).symlink_to(place)
    caches = {"HOME": tmp_path, "HF_HOME": tmp_path / "hf", "PROBING_CACHE": tmp_path / "cache"}
    small = {"PROBING_REPOSITORY": folder / "small", "PROBING_SNAPSHOT": folder / "none"}
    ships = {"PROBING_CACHE": tmp_path / "cache-of-what-ships"}
    commands, blocks = printed(path)
    given = GIVEN.get(path.name, {})
    (tmp_path / "blocks.py").write_text("".join(given.get(n, "") + block for n, block in enumerate(blocks)))
    commands = [command for command in commands if not any(re.match(begin, command) for begin in NOT_HERE)]
    for what, name in re.findall(r"push (\w+) .*--to (\S+)", "\n".join(commands)):
        hub.add(name, {".gitattributes": b""}, kind="model" if what == "heads" else "dataset")
    for command in [*BEFORE.get(path.name, ()), *commands, *(["python blocks.py"] if blocks else [])]:
        reads = path.name not in SMALL or re.match(OF_WHAT_SHIPS, command) or command == "python blocks.py"
        more = {} if path.name not in SMALL else ships if reads else small
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment | {name: str(place) for name, place in {**caches, **more}.items()},
            input="y\n",
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
        for pushed in (folder / "pushed").glob("*/*/*"):
            kind, owner, name = pushed.parts[-3:]
            made = hub.kept[kind, f"{owner}/{name}"]
            files = (one for one in pushed.rglob("*") if one.is_file())
            made.commit({one.relative_to(pushed).as_posix(): one.read_bytes() for one in files})
            made.refs["COMMIT"] = made.refs["main"]
