"""The fields of the model and its base, each checked when it is typed."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from probing.choices_own_model import OwnModelSelection
from probing.kernel.app import blocks, live_models, selection
from probing.kernel.app.frame import View
from probing.kernel.app.texts import code, filled
from probing.kernel.errors import ProbingError
from probing.kernel.models.checkpoint import added_tokens
from probing.kernel.models.names import base_entry, find_entry, named_folders
from probing.own_model.check import CheckedModel, check_model_folder, in_bytes
from probing.own_model.run_wish import placed

MAX_OTHERS = 6
#: Session key: hub ids that the user has asked to look up.
_ASKED = "own_model.asked"


@dataclass(frozen=True)
class Named:
    """A model that is named: as in commands (``text``) and in results; ``model`` is None if it cannot be checked here.

    ``base`` is the recorded one; ``fine``: nothing is known that keeps the model from being probed.
    """

    text: str
    name: str
    model: CheckedModel | None = None
    base: str = ""
    fine: bool = False


def draw(view: View, public: bool) -> tuple[Named | None, Named | None, list[Named]]:
    """Draws the fields with what is known of the models; gives the model, its base and the further models."""
    model, base = _two(view, public)
    return model, base, _more(view, public, model, base)


def _more(view: View, public: bool, model: Named | None, base: Named | None) -> list[Named]:
    """The further models with the same base, one per entry."""
    typed = selection.of(OwnModelSelection).my_others
    selection.bound(
        st.multiselect,
        "Further models with the same base",
        "my_others",
        view.page,
        options=list(dict.fromkeys((*typed, *_offered(model, base)))),
        accept_new_options=True,
        max_selections=MAX_OTHERS,
        placeholder="type a folder, hub id or name, or choose one",
        help="They are asked the same facts in the same run, and shown next to each other.",
    )
    named = [_named(text.strip(), public, f"other.{number}") for number, text in enumerate(typed[:MAX_OTHERS])]
    return [_with_base(choice, base) for choice in named if choice]


def _with_base(model: Named, base: Named | None) -> Named:
    """The model, not fine if it needs a base or this one cannot be its own; says why, or how tokens differ."""
    if not model.model or (base and not base.model):
        return model
    lent = base.model if base else None
    if why := model.model.unfit(lent, base.name if base else ""):
        st.warning(filled("{name} {why}.", name=model.name, why=why), icon=":material/report:")
        return Named(model.text, model.name, model.model)
    if base and lent and (warning := added_tokens(model.name, model.model.shape(lent), base.name, lent.shape())[1]):
        st.caption(filled("{said}.", said=warning))
    return model


def _offered(model: Named | None, base: Named | None) -> list[str]:
    """Models on this machine that may be chosen as further ones."""
    names = {named_model.name for named_model in (model, base) if named_model}
    return [name for name, choice in live_models.choices().items() if choice.here and name not in names]


def _two(view: View, public: bool) -> tuple[Named | None, Named | None]:
    _say_found(public)
    own = selection.of(OwnModelSelection)
    left, right = st.columns(2)
    with left:
        selection.bound(
            st.text_input,
            "Your model",
            "my_model",
            view.page,
            placeholder="folder, hub id or name",
            max_chars=selection.MAX_TEXT,
        )
        model = _named(own.my_model.strip(), public, "model")
    with right:
        hint = model.base if model and model.base else "folder, hub id or name; may stay empty"
        selection.bound(
            st.text_input,
            "The base that it was fine-tuned from",
            "my_base",
            view.page,
            placeholder=hint,
            max_chars=selection.MAX_TEXT,
        )
        base = _named(own.my_base.strip() or (model.base if model else ""), public, "base")
    return model and _with_base(model, base), base


def _say_found(public: bool) -> None:
    """States what ``PROBING_MODELS`` names; a public page leaves the server's folders out."""
    if public:
        return
    for folder in named_folders():
        st.caption(filled("`PROBING_MODELS`: {folder}: {found}.", folder=code(folder.path), found=folder.said))


def _named(text: str, public: bool, field: str) -> Named | None:
    """What is known of a model by what was typed, drawn below the field."""
    if not text:
        return None
    if public and text not in live_models.choices():
        st.caption("Checked on your own machine only: this server looks at none of its folders, and asks no hub.")
        return Named(text, text)
    try:
        entry = find_entry(text)
        recorded = base_entry(entry)
        folder, here, size = _located(text, entry.hub_id, entry.revision, entry.location, field)
        if folder is None:
            return Named(text, entry.name)
        model = check_model_folder(folder, complete=here)
    except ProbingError as error:
        blocks.problem(error)
        return Named(text, text)
    where = (
        filled("{size} on this machine", size=in_bytes(model.file_bytes) if model.file_bytes else "its files are")
        if here
        else filled("to be downloaded: {size}", size=in_bytes(size) if size else "size unknown")
    )
    st.caption(filled("{name}: {what}; {where}.", name=entry.name, what=model.said, where=where))
    for note in model.notes:
        st.warning(filled("{note}.", note=note), icon=":material/report:")
    return Named(
        placed(text),
        entry.name,
        model,
        (recorded.location if not recorded.shipped else recorded.name) if recorded else "",
        True,
    )


def _located(text: str, hub_id: str, revision: str, location: str, field: str) -> tuple[Path | None, bool, int]:
    """Folder of the configuration (None: unknown), whether the weights are here, and how much is to be downloaded."""
    if not hub_id:
        return Path(location), True, 0
    from probing.kernel.models.hub import is_on_this_machine, look_up

    looked_up = st.session_state.setdefault(_ASKED, set())
    here = is_on_this_machine(hub_id, revision or None)
    if not here and text not in looked_up:
        if live_models.offline():
            st.caption(filled("{hub} is not on this machine, and this server works offline.", hub=code(hub_id)))
        elif st.button("Look it up on the hub", key=f"own_model.look.{field}", icon=":material/travel_explore:"):
            looked_up.add(text)
            st.rerun()
        else:
            st.caption(filled("{hub} is not on this machine.", hub=code(hub_id)))
        return None, False, 0
    repository = look_up(hub_id, revision or None, local_only=here)
    return repository.folder, repository.here, repository.weight_bytes
