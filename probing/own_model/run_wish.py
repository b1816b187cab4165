"""What is asked of a user's own model, and the commands that do it, one after the other."""

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from probing.kernel.models.names import LOGIT_LENS, find_entry, own_model_folders
from probing.kernel.provenance import Frozen, canonical_json

TREX = "trex"


class Step(NamedTuple):
    """A command of a run: what it does, and its words after ``python -m probing``."""

    title: str
    words: tuple[str, ...]

    @property
    def line(self) -> str:
        """The command, ready to be typed."""
        return shlex.join(("python", "-m", "probing", *self.words))


class Wish(Frozen):
    """A model (folder, hub id or name), its base, if any, and the file of own facts.

    All are read by their pre-trained heads: heads that are trained for one of the models only could not be compared.
    """

    model: str
    base: str = ""
    facts: str
    #: Probe set.
    called: str
    #: Of the model in results; empty: its folder's.
    name: str = ""
    trex: bool = False
    recover: bool = False
    #: Further models with the same base that are asked the same.
    others: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The commands in their order; each skips what it finds done."""
        of_base = self._option("--base", self.base)
        base, tuned = ("--model", self.base), ("--model", self.model, *of_base, *self._option("--name", self.name))
        models = [(tuned, "the model"), *((("--model", other, *of_base), Path(other).name) for other in self.others)]
        own, head = ("--facts", self.facts, "--as", self.called), ("--head", LOGIT_LENS)
        sets = [(own, "your facts"), *([(("--facts", TREX), "T-REx")] if self.trex else [])]
        steps = []
        for facts, title in sets:
            if self.base:
                steps.append(Step(f"Ask the base: {title}", ("probe", *base, *facts, *head)))
            steps += [Step(f"Ask {called}: {title}", ("probe", *model, *facts, *head)) for model, called in models]
        if self.recover and self.base:
            steps += [
                Step(f"Look for ways back to the lost facts: {called}", ("forgetting", "recover", *model, *own))
                for model, called in models
            ]
        return tuple(steps)

    @staticmethod
    def _option(name: str, value: str) -> Sequence[str]:
        return (name, value) if value else ()

    def key(self, content: bytes) -> str:
        """The same for the same wish: 12 hex digits of sha256 over it and the content of the file of facts."""
        # A wish without further models has the id that it had before there could be any.
        wish = {
            **self.model_dump(exclude=None if self.others else {"others"}),
            "facts": hashlib.sha256(content).hexdigest(),
        }
        return hashlib.sha256(canonical_json(wish).encode()).hexdigest()[:12]

    def with_facts(self, path: Path) -> "Wish":
        """The same with another file of facts."""
        return self.model_copy(update={"facts": str(path)})


def placed(model: str) -> str:
    """A model as commands name it in any folder: a folder by its absolute path, other names unchanged."""
    location = find_entry(model).location
    folder = next(
        (path for path in (Path(model).expanduser(), *own_model_folders()) if str(path.resolve()) == location), None
    )
    return str(folder.absolute()) if folder else model
