"""Models kept in memory for questions. Only this part of the pages loads torch, and only when a model is asked."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from probing.kernel.app.memory import ModelCache
from probing.kernel.errors import ModelError, PromptError
from probing.kernel.files import State, cache_folder, files_state
from probing.kernel.models.checkpoint import NO_HEAD, ModelFiles, why_unusable
from probing.kernel.models.names import HEADS as HEADS
from probing.kernel.models.names import LOGIT_LENS, base_entry, find_entry, finetuning_note, is_model, own_model_folders
from probing.kernel.questions import Answer, EveryToken, Question, UnknownWord
from probing.kernel.registry import ModelEntry, name_of_model, read_registry

if TYPE_CHECKING:
    from probing.kernel.models.queue import Turn, Turns
    from probing.live.ask import LiveModel, ReplacedAnswer

T = TypeVar("T")

#: Maximum number of gaps that a page fills one after another: BERT-base takes about ten seconds for them.
MAX_FILLED = 32
#: Why the user must choose a base.
WITHOUT_HEAD = (
    "{name} was saved without a masked-LM head, so it is read through the head of the model that it was fine-tuned"
    " from."
)


@dataclass(frozen=True)
class Choice:
    """A model of the menu.

    ``location`` is a name in the registry or a folder, ``where`` its origin, shown after its name. Models that are not
    ``here`` are downloaded from the hub, and only at the user's request. ``base`` is named by a run of one's own; its
    head reads the model if that has none.
    """

    name: str
    location: str
    where: str
    here: bool = True
    base: str = ""

    def called(self, name: str) -> str:
        """Its name in menus, made from another name of the model, such as the page's."""
        return f"{name} ({self.where})"


#: Gives the folders that own runs asked; ``probing.choices`` hands it in, since own runs build on this file.
of_own_runs: Callable[[], list[Choice]] = list


def choices() -> dict[str, Choice]:
    """The models of the menu, by name; those on this machine come first.

    These are the registry's models, folders below ``cache/models``, the models that ``PROBING_MODELS`` names (see
    ``kernel.models.names``), the folders that ``finetune`` recorded as the base of one of these, and the models of
    own runs on this machine. No page or link can load any other model.
    """
    entries = {entry.name: entry for entry in read_registry().models}
    shipped = [Choice(name, name, "shipped") for name, entry in entries.items() if entry.shipped]
    folder = cache_folder() / "models"
    folders = sorted(folder.iterdir()) if folder.is_dir() else []
    folders += own_model_folders()
    folders += [Path(base) for folder in folders if (base := _note(folder).get("base_folder"))]
    local = [
        Choice(name, name if name in entries else str(folder), "local")
        for name, folder in ((name_of_model(folder), folder) for folder in folders)
        if is_model(folder)
    ]
    local += of_own_runs()
    there = {choice.name for choice in (*shipped, *local)} | {
        name for name, entry in entries.items() if _in_hub_cache(entry)
    }
    elsewhere = "unavailable offline" if offline() else "not on this machine"
    hub = [
        Choice(name, name, "hub" if here else elsewhere, here)
        for name, entry in entries.items()
        if not entry.shipped
        for here in [name in there and (not entry.base or entry.base in there)]
    ]
    offered: dict[str, Choice] = {}
    for choice in [*shipped, *local, *sorted(hub, key=lambda choice_on_hub: not choice_on_hub.here)]:
        offered.setdefault(choice.name, choice)
    return {name: choice if choice.base in offered else replace(choice, base="") for name, choice in offered.items()}


def on_device(device: str) -> str:
    """Where an answer was computed, in words: "on the CPU"."""
    from probing.kernel.models.load import device_in_words

    return f"on {device_in_words(device)}"


def offline() -> bool:
    """Whether ``HF_HUB_OFFLINE`` keeps this server from using the hub."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def _in_hub_cache(entry: ModelEntry) -> bool:
    """Whether a model was downloaded from the hub before."""
    if not entry.hub_id:
        return False
    from probing.kernel.models.hub import is_on_this_machine

    return is_on_this_machine(entry.hub_id, entry.revision or None)


def lacks_head(choice: Choice) -> bool:
    """Whether a model has no masked-LM head and no recorded base, as with models fine-tuned elsewhere."""
    return _why_no_head(choice) == NO_HEAD


def _why_no_head(choice: Choice) -> str:
    """Why a model that names no base has no head; empty if it has one, or cannot be used at all."""
    if described(choice) or base_of(choice):
        return ""
    files = ModelFiles(Path(choice.location))
    return "" if why_unusable(files.kind, 1, False) else files.why_no_head


def bases(offered: dict[str, Choice], chosen: Choice) -> list[str]:
    """Names of the models on this machine whose head can read another model: those that have a head and no base."""
    others = [choice for name, choice in offered.items() if name != chosen.name]
    return [choice.name for choice in others if choice.here and not base_of(choice) and not _why_no_head(choice)]


def missing_shipped(model: str) -> bool:
    return any(
        entry.name == model and entry.shipped and not Path(entry.location).is_dir() for entry in read_registry().models
    )


def base_of(choice: Choice) -> str:
    """The model that this one was fine-tuned from, by the user, the registry or its folder; ``""`` if unknown."""
    if choice.base:
        return choice.base
    entry = next((entry for entry in read_registry().models if entry.name == choice.location), None)
    if entry is not None:
        return entry.base
    return _note(Path(choice.location)).get("base", "")


def _note(folder: Path) -> dict[str, str]:
    """Base and its folder as ``finetune`` recorded them; empty if the record is missing or damaged."""
    try:
        made = finetuning_note(folder)
    except ModelError:
        return {}
    return {key: str(made.get(key, "")) for key in ("base", "base_folder")}


def described(choice: Choice) -> bool:
    """Whether the model is in the registry, which also lists its base."""
    return any(entry.name == choice.location for entry in read_registry().models)


@st.cache_resource(show_spinner=False)
def model_cache() -> "ModelCache[LiveModel]":
    """The shelf that this process shares."""
    return ModelCache()


def _base_location(choice: Choice) -> str | None:
    return choices()[choice.base].location if choice.base else None


def state_of(choice: Choice, head: str = LOGIT_LENS) -> State:
    """State of the files of a model, its base and its trained heads: part of the key of all that is kept of a model,
    as a folder may be trained again.

    A model of the hub has none here: its files belong to a commit.
    """
    entry = find_entry(choice.location, _base_location(choice))
    read = [Path(origin.location) for origin in (entry, base_entry(entry)) if origin and not origin.hub_id]
    if head != LOGIT_LENS:
        from probing.heads.files import heads_folder

        trained = heads_folder(choice.location, load(choice, LOGIT_LENS).encoder, head, cache_folder())
        read += [trained] if trained else []
    return files_state(read, "*")


def load(choice: Choice, head: str, fetch: bool = False) -> "LiveModel":
    """A model with a head for every layer, kept in memory within ``KEPT_BYTES`` until its files change; all kinds of
    heads of a model share one encoder.

    Without ``fetch``, the user's wish to download, only files on this machine are loaded, so that a link alone never
    makes the server contact the hub.
    """
    if not (choice.here or fetch):
        raise ModelError(
            f"{choice.name} is not on this machine; to download it, choose it on the page Ask and press the button"
        )
    from probing.heads.files import heads_folder
    from probing.kernel.models.hub import without_the_hub
    from probing.live.ask import load_live, open_live

    cache, trained = cache_folder(), None
    model, state = (choice.location, choice.base, str(cache)), state_of(choice)
    if head != LOGIT_LENS:
        encoder = load(choice, LOGIT_LENS, fetch).encoder
        trained = heads_folder(choice.location, encoder, head, cache)

    def made() -> "LiveModel":
        if head != LOGIT_LENS:
            return load_live(encoder, head, trained)
        with nullcontext() if fetch else without_the_hub():
            return open_live(choice.location, head, cache, base=_base_location(choice))

    return model_cache().get((model, state, head, files_state([trained] if trained else [])), made)


@st.cache_resource(show_spinner=False)
def turns(device: str) -> "Turns":
    """The request queue of a device: first come, first served; a user's newer request cancels the older one."""
    from probing.kernel.models.queue import Turns

    return Turns()


@contextmanager
def _turn(live: "LiveModel") -> "Iterator[Turn]":
    """Waits for the model's device on behalf of this page run; yields the turn, which ends a superseded request."""
    context, run = get_script_run_ctx(suppress_warning=True), threading.current_thread()
    visitor = context.session_id if context else f"thread {run.ident}"
    with turns(str(live.encoder.device)).turn(visitor, run) as turn:
        yield turn


@contextmanager
def _newest_only() -> "Iterator[None]":
    """Ends this run of the page if the user has sent a newer request, which another run draws already."""
    from probing.kernel.models.queue import Superseded, register

    # Before the model is loaded: a later run of the page may overtake this one while it loads.
    register(threading.current_thread())
    try:
        yield
    except Superseded:
        st.stop()
        raise  # Outside a page ``st.stop`` does nothing.


def ask(choice: Choice, question: Question) -> Answer:
    """Every layer's predictions at one gap."""
    with _newest_only():
        return _ask(choice, question, state_of(choice, question.head))


@st.cache_data(max_entries=128, show_spinner=False)
def _ask(choice: Choice, question: Question, state: State) -> Answer:
    live = load(choice, question.head)
    with _turn(live) as check:
        answer = live.ask(
            question.prompt,
            question.top,
            question.watch,
            question.mask,
            question.pieces,
            check=check,
            pause=check.pause,
        )
    return replace(answer, notes=(*live.encoder.notes, *answer.notes))


def every_token(choice: Choice, text: str, head: str, top: int) -> EveryToken:
    """Every layer's predictions at every token of a text; see ``LiveModel.every_token``."""
    with _newest_only():
        return _every_token(choice, text, head, top, state_of(choice, head))


@st.cache_data(max_entries=16, show_spinner=False)
def _every_token(choice: Choice, text: str, head: str, top: int, state: State) -> EveryToken:
    live = load(choice, head)
    with _turn(live) as check:
        return live.every_token(text, top, check)


def fill(choice: Choice, question: Question) -> "tuple[str, tuple[Answer, ...]]":
    """Fills up to ``MAX_FILLED`` gaps from the left, a token each; see ``LiveModel.fill_left_to_right``."""
    if (n_gaps := gaps(choice, question)) > MAX_FILLED:
        raise PromptError(
            f"the sentence has {n_gaps:,} gaps, at most {MAX_FILLED} are filled here; shorten it, or read one gap at a"
            " time"
        )
    with _newest_only():
        return _fill(choice, question, state_of(choice, question.head))


@st.cache_data(max_entries=32, show_spinner=False)
def _fill(choice: Choice, question: Question, state: State) -> "tuple[str, tuple[Answer, ...]]":
    live = load(choice, question.head)
    with _turn(live) as turn:
        return live.fill_left_to_right(question.prompt, question.top, question.watch, turn, turn.pause)


def replaced(choice: Choice, base: Choice, question: Question, where: str) -> "ReplacedAnswer":
    """The last layer's tokens with n = 0..L layers replaced by the base's; see ``kernel.models.layer_swap``."""
    with _newest_only():
        return _replaced(choice, base, question, where, (*state_of(choice, question.head), *state_of(base)))


@st.cache_data(max_entries=64, show_spinner=False)
def _replaced(choice: Choice, base: Choice, question: Question, where: str, state: State) -> "ReplacedAnswer":
    from probing.live.ask import ask_replaced

    live, donor = load(choice, question.head), load(base, LOGIT_LENS).encoder
    side: Literal["last", "first"] = "first" if where == "first" else "last"
    with _turn(live) as turn:
        return ask_replaced(live, donor, question.prompt, side, question.top, question.watch, question.mask, turn.pause)


def in_turn(choice: Choice, ask: "Callable[..., T]", *further: Choice) -> T:
    """The result of ``ask`` for loaded models, run in the device's queue; a newer request of the user ends this run of
    the page.

    ``ask`` is called with the turn, which long work has to pause, the model and the further models.
    """
    with _newest_only():
        live = [load(model, LOGIT_LENS) for model in (choice, *further)]
        with _turn(live[0]) as turn:
            return ask(turn, *live)


def gaps(choice: Choice, question: Question) -> int:
    """Number of gaps that the model recognises in a sentence."""
    return load(choice, question.head).gaps(question.prompt)


def watchable(choice: Choice, question: Question) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that the model can be asked for at the question's gap, or at every gap; and the others, with why."""
    with _newest_only():
        return _watchable(choice, replace(question, top=1), state_of(choice, question.head))


@st.cache_data(max_entries=256, show_spinner=False)
def _watchable(choice: Choice, question: Question, state: State) -> tuple[tuple[str, ...], tuple[str, ...]]:
    live, good, bad = load(choice, question.head), [], []
    with _turn(live):
        places = range(live.gaps(question.prompt)) if question.mask is None else [question.mask]
        for word in question.watch:
            try:
                for place in places:
                    live.watched_ids(word, question.prompt, place)
                good.append(word)
            except UnknownWord as error:
                bad.append(f"{word} ({error.has})")
    return tuple(good), tuple(bad)
