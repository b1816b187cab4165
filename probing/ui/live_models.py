"""Models kept ready for questions. The only place of the pages that loads torch, and only when a model is asked."""

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from probing.core.places import cache_folder
from probing.core.registry import name_of_model, read_registry
from probing.ui.chosen_runs import HEADS as HEADS

if TYPE_CHECKING:
    from probing.models.layer_replacement import ReplacedAnswer
    from probing.models.live import Answer, LiveModel
    from probing.models.turns import Turns

#: Weights kept in memory. The shipped family with all its heads takes less than half of it, BERT-base with ``full`` heads nearly all.
KEPT_BYTES = 2 << 30


@dataclass(frozen=True)
class Choice:
    """A model of the menu.

    Attributes:
        name: how results and links call it.
        location: what to load: a name of the registry or a folder.
        label: what a reader sees.
    """

    name: str
    location: str
    label: str


def choices() -> dict[str, Choice]:
    """What the menu offers, by name.

    The registry's models, folders below ``cache/models``, the folders in ``PROBING_MODELS`` (separated like ``PATH``), and the folders
    that ``finetune`` noted as a base of one of these.
    Nothing else can be loaded from a page, whatever a link says.
    """
    entries = {entry.name: entry for entry in read_registry().models}
    shipped = [Choice(name, name, f"{name} (shipped)") for name, entry in entries.items() if entry.shipped]
    kept = cache_folder() / "models"
    folders = sorted(kept.iterdir()) if kept.is_dir() else []
    folders += [Path(text) for text in os.environ.get("PROBING_MODELS", "").split(os.pathsep) if text]
    folders += [Path(base) for folder in folders if (base := _note(folder).get("base_folder"))]
    local = [
        Choice(name, name if name in entries else str(folder), f"{name} (local)")
        for name, folder in ((name_of_model(folder), folder) for folder in folders)
        if (folder / "config.json").is_file()
    ]
    hub = [Choice(name, name, f"{name} (hub)") for name, entry in entries.items() if not entry.shipped]
    offered: dict[str, Choice] = {}
    for choice in [*shipped, *local, *hub]:
        offered.setdefault(choice.name, choice)
    return offered


def pick(name: str, offered: dict[str, Choice]) -> str:
    """That name if it is offered, else the first."""
    return name if name in offered else next(iter(offered))


def missing_shipped(model: str) -> bool:
    """Whether a shipped model's files are not there."""
    return any(entry.name == model and entry.shipped and not Path(entry.location).is_dir() for entry in read_registry().models)


def base_of(choice: Choice) -> str:
    """Name of the model that this one was fine-tuned from, as the registry or its folder says; ``""`` if neither does."""
    entry = next((entry for entry in read_registry().models if entry.name == choice.location), None)
    if entry is not None:
        return entry.base
    return _note(Path(choice.location)).get("base", "")


def _note(folder: Path) -> dict[str, str]:
    """Base and its folder as ``finetune`` noted them; nothing where there is no note, or a torn one."""
    try:
        made = json.loads((folder / "finetuning.json").read_text(encoding="utf-8"))
        return {key: str(made.get(key, "")) for key in ("base", "base_folder")}
    except (OSError, ValueError, AttributeError):
        return {}


def described(choice: Choice) -> bool:
    """Whether the registry knows the model, and so whether it has a base."""
    return any(entry.name == choice.location for entry in read_registry().models)


@dataclass
class Shelf:
    """Models kept ready: many small ones or a few large ones, the least recently asked going first."""

    limit: int = KEPT_BYTES
    kept: "OrderedDict[tuple, LiveModel]" = field(default_factory=OrderedDict)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: tuple, make: "Callable[[], LiveModel]") -> "LiveModel":
        """The model of that key, made if it is not kept. The newest is kept however large it is; one is loaded at a time."""
        with self.turn:
            if key not in self.kept:
                self.kept[key] = make()
            self.kept.move_to_end(key)
            while len(self.kept) > 1 and sum(model.nbytes for model in self.kept.values()) > self.limit:
                self.kept.popitem(last=False)
            return self.kept[key]


@st.cache_resource(show_spinner=False)
def shelf() -> Shelf:
    """The one shelf of this process."""
    return Shelf()


def load(model: str, head: str) -> "LiveModel":
    """A model with a head for every layer, kept ready within ``KEPT_BYTES``.

    Raises:
        ModelError, HeadError: if they are not there or do not fit.
    """
    from probing.models.catalogue import open_live

    cache = cache_folder()
    return shelf().get((model, head, str(cache)), lambda: open_live(model, head, cache))


@st.cache_resource(show_spinner=False)
def turns(device: str) -> "Turns":
    """The queue before a device: visitors share it in turn, and who asks anew gives up what was asked before."""
    from probing.models.turns import Turns

    return Turns()


@contextmanager
def _turn(live: "LiveModel") -> "Iterator[Callable[[], None]]":
    """This visitor's turn on the model's device, for this drawing of the page; gives the check that ends what is superseded."""
    context, run = get_script_run_ctx(suppress_warning=True), threading.current_thread()
    visitor = context.session_id if context else f"thread {run.ident}"
    with turns(str(live.encoder.device)).turn(visitor, run) as check:
        yield check


@contextmanager
def _newest_only() -> "Iterator[None]":
    """Ends this drawing of the page where the visitor has asked something newer: the newer one is drawn already."""
    from probing.models.turns import Superseded, arrive

    # Before a model is loaded, which may take longer than the drawing that comes after this one.
    arrive(threading.current_thread())
    try:
        yield
    except Superseded:
        st.stop()
        raise  # Outside of a page there is nothing to stop.


def ask(model: str, head: str, prompt: str, top: int, watch: tuple[str, ...], mask: int | None) -> "Answer":
    """Every layer's answer at one mask.

    Args:
        model: the ``location`` of a ``Choice``.
        head: one of ``HEADS``.
        prompt: the sentence.
        top: tokens a layer.
        watch: words to follow, each one token.
        mask: which of several masks to read, from 0.

    Raises:
        PromptError: if the prompt cannot be asked.
    """
    with _newest_only():
        return _ask(model, head, prompt, top, watch, mask)


@st.cache_data(max_entries=128, show_spinner=False)
def _ask(model: str, head: str, prompt: str, top: int, watch: tuple[str, ...], mask: int | None) -> "Answer":
    live = load(model, head)
    with _turn(live) as check:
        return live.ask(prompt, top, watch, mask, check=check)


def fill(model: str, head: str, prompt: str, top: int, watch: tuple[str, ...]) -> "tuple[str, tuple[Answer, ...]]":
    """Fills several masks from the left; see ``LiveModel.fill_left_to_right``."""
    with _newest_only():
        return _fill(model, head, prompt, top, watch)


@st.cache_data(max_entries=32, show_spinner=False)
def _fill(model: str, head: str, prompt: str, top: int, watch: tuple[str, ...]) -> "tuple[str, tuple[Answer, ...]]":
    live = load(model, head)
    with _turn(live) as check:
        return live.fill_left_to_right(prompt, top, watch, check)


def replaced(
    model: str, head: str, base: str, prompt: str, where: str, top: int, watch: tuple[str, ...], mask: int | None
) -> "ReplacedAnswer":
    """The last layer's answer with n = 0..L layers put back to the base's; see ``models.layer_replacement``.

    Raises:
        PromptError: if the prompt cannot be asked.
        ModelError: if the two do not fit.
    """
    with _newest_only():
        return _replaced(model, head, base, prompt, where, top, watch, mask)


@st.cache_data(max_entries=64, show_spinner=False)
def _replaced(
    model: str, head: str, base: str, prompt: str, where: str, top: int, watch: tuple[str, ...], mask: int | None
) -> "ReplacedAnswer":
    from probing.models.layer_replacement import ask_replaced

    live, donor = load(model, head), load(base, "lens").encoder
    with _turn(live) as check:
        return ask_replaced(live, donor, prompt, "first" if where == "first" else "last", top, watch, mask, check)


def watchable(model: str, head: str, words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words that are one token of the model, and those that are not."""
    with _newest_only():
        return _watchable(model, head, words)


@st.cache_data(max_entries=256, show_spinner=False)
def _watchable(model: str, head: str, words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from probing.core.errors import PromptError

    live, good, bad = load(model, head), [], []
    with _turn(live):
        for word in words:
            try:
                live.watched_id(word)
                good.append(word)
            except PromptError:
                bad.append(word)
    return tuple(good), tuple(bad)
