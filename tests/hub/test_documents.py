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

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: How a command begins -> why it cannot run here.
NOT_HERE = {
    r"make |(\.venv/bin/)?pip install|python3 -m venv": "makes an environment: tests/test_packaging.py",
    r"HF_HUB_OFFLINE=1 \.venv|hf |git ": "a server that stays, and Spaces of the hub: tests/kernel/test_start.py",
    r"export |head=|srun |python .* --address auto": "a cluster: tests/jobs",
    r"python -m (pytest|tests)": "these tests, and make bench",
    r"python -m probing forgetting recover ": "needs a trained model that kept facts and lost 50: tests/forgetting",
    r"python -m probing push (edges|sentences|forgetting) |.*COMMIT": "shares what nothing here made: tests/sharing",
}
#: What reads the trained heads, probes and results that ship, by document and command; all else runs with a tiny model
#: as nesia-mini and nothing stored, because results on tiny data sets contradict those that ship.
OF_WHAT_SHIPS = (
    r"tutorials/|docs/(api|facts)\.md |"
    r".* (edges trace|sentences ask|changes report|sentences report changes|blocks\.py)"
)
#: Document -> what its text says was done before.
BEFORE: dict[str, tuple[str, ...]] = {
    "forgetting.md": (
        "python -m probing fetch conll2003 wikitext-2",
        "python -m probing finetune --model nesia-mini --objective ner-conll --checkpoints 2",
    ),
    "sharing.md": (
        "python -m probing fetch wikitext-2",
        "python -m probing train-heads --model bert-base-uncased --head least_squares",
        "python -m probing probe --model bert-base-uncased --facts common_sense --head logit_lens",
    ),
    "own-model.md": ("python -m probing fetch OWNER/NAME",),
}
#: Document and number of a block of Python -> the lines before it, which have what the text takes as given.
GIVEN = {
    ("api.md", 0): """
import plotly.graph_objects, transformers
kinds = transformers.AutoModelForMaskedLM, transformers.AutoTokenizer
bert, tokenizer = (kind.from_pretrained("my-bert") for kind in kinds)
facts, f1_of = "my.csv", lambda model, tokenizer: 0.5
plotly.graph_objects.Figure.write_image = lambda figure, name: None  # It needs a browser.
""",
    ("figure.md", 0): """
import plotly.graph_objects
plotly.graph_objects.Figure.write_image = lambda figure, name: None  # It needs a browser.
""",
    ("api.md", 1): 'model = probing.load("nesia-mini")  # the only one with trained probes\n',
    ("forgetting.md", 0): """
from transformers import AutoModelForMaskedLM, AutoTokenizer, Trainer, TrainingArguments
model, tokenizer = AutoModelForMaskedLM.from_pretrained("my-bert"), AutoTokenizer.from_pretrained("my-bert")
row = dict(tokenizer("The capital of France is Paris."))
rows = [row | {"labels": row["input_ids"]}] * 8
arguments = TrainingArguments("out", max_steps=2, report_to=[], use_cpu=True)
""",
}
#: First in every process: only the loopback can be reached.
FIRST = """
import socket
def connect(self, address, connect=socket.socket.connect):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"a connection to {address}")
    return connect(self, address)
socket.socket.connect = connect
"""


def printed(path: Path) -> tuple[list[str], list[str]]:
    """The commands and the blocks of Python, in the order of the document; a block of another language is neither."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    shell = [re.sub(r"\\\n\s*", "", block) for language, block in blocks if language in ("", "shell")]
    lines = [line for block in shell for line in block.splitlines() if line.strip()]
    return lines, [block for language, block in blocks if language == "python"]


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder, and the environment of a machine that reaches the stand-ins only."""
    folder, hub = tmp_path_factory.mktemp("world"), Hub()
    documents.serve_models(hub, folder / "models")
    documents.write_own(folder / "own")
    documents.write_repository(folder / "small")
    server = documents.serve_data(documents.write_data(folder / "FOLDER"), folder / "registry.toml")
    (folder / "first").mkdir()
    (folder / "first" / "sitecustomize.py").write_text(FIRST)
    unset = ("HF_HUB_OFFLINE", "HF_TOKEN", "PROBING_SNAPSHOT", "PROBING_MODELS")
    environment = {name: value for name, value in os.environ.items() if name not in unset} | {
        "HF_ENDPOINT": hub.address,
        "HF_TOKEN": "token-of-OWNER",
        "HF_HUB_DISABLE_XET": "1",
        "PROBING_REGISTRY": str(folder / "registry.toml"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{folder / 'first'}:{ROOT}",
    }
    yield folder, environment
    hub.close()
    server.shutdown()


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if any(printed(path))], ids=lambda path: path.name)
def test_what_a_document_prints_runs(path, world, tmp_path):
    folder, environment = world
    for place in [*(folder / "own").iterdir(), folder / "FOLDER", ROOT / "docs"]:
        (tmp_path / place.name).symlink_to(place)
    caches = {"HOME": tmp_path, "HF_HOME": tmp_path / "hf", "PROBING_CACHE": tmp_path / "cache"}
    small = {"PROBING_REPOSITORY": folder / "small", "PROBING_SNAPSHOT": folder / "none"}
    ships = {"PROBING_CACHE": tmp_path / "cache-of-what-ships"}
    commands, blocks = printed(path)
    (tmp_path / "blocks.py").write_text("".join(GIVEN.get((path.name, n), "") + one for n, one in enumerate(blocks)))
    commands = [command for command in commands if not any(re.match(begin, command) for begin in NOT_HERE)]
    for command in [*BEFORE.get(path.name, ()), *commands, *(["python blocks.py"] if blocks else [])]:
        more = ships if re.match(OF_WHAT_SHIPS, f"{path.parent.name}/{path.name} {command}") else small
        there = environment | {name: str(place) for name, place in {**caches, **more}.items()}
        streams = {"capture_output": True, "text": True, "input": "y\n"}
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=there, timeout=900, **streams)
        assert done.returncode == 0, f"{command}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
