"""What a run of any kind is made with: model, heads or probes, computation, and the id of its vocabulary."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Frozen(BaseModel):
    """A checked record: unknown keys are refused, and no value can be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


#: The revision of a model that is no commit of the hub: a folder, or a model in memory.
LOCAL = "local"
#: A commit of the hub.
COMMIT = re.compile(r"[0-9a-f]{40}")

#: The encoders that are asked: the trained one, and baselines of its shape, with all weights random or with a random
#: body on top of the trained embeddings.
TRAINED, RANDOM, RANDOM_BODY = ENCODERS = ("trained", "random", "random-body")


class Provenance(Frozen):
    """The part of a run's configuration that does not depend on what the model is asked.

    A run's id is the fingerprint of all fields, so a field never changes its name in JSON, and a later one has a
    default.
    """

    model_config = ConfigDict(populate_by_name=True)

    model: str
    weights: str
    #: Commit on the hub; ``local`` for a folder.
    model_revision: str
    base: str
    objective: str
    #: Canonical JSON of how the heads or probes were trained with ``seed``, or their name.
    recipe: str = Field(alias="head_recipe")
    seed: int
    dtype: str
    #: Of the computation, as sums depend on them.
    threads: int
    code_version: str
    configuration: str = ""
    #: How the tokenizer treats capitals.
    casing: str = ""
    hub_id: str = ""
    #: ``ID@COMMIT`` on the hub of the base whose head, probes or weights are used; empty if it is a folder.
    base_source: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """The columns of a run's row that follow from its configuration, of every kind of run."""
        may_be_empty = {
            name: getattr(self, name) or None for name in ("model_revision", "base", "objective", "code_version")
        }
        return {
            "run_id": self.fingerprint,
            "model": self.model,
            "seed": self.seed,
            "config": self.canonical(),
            **may_be_empty,
        }

    def canonical(self) -> str:
        """Canonical JSON; a field that was added later is left out at its default."""
        return canonical_json(self.model_dump(exclude_defaults=True, by_alias=True))

    @property
    def fingerprint(self) -> str:
        """``fingerprint_of`` the canonical JSON."""
        return fingerprint_of(self.canonical())


def canonical_json(content: Any, ascii_only: bool = True) -> str:
    """JSON with sorted keys and no spaces: equal content, equal text."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=ascii_only)


def fingerprint_of(canonical: str) -> str:
    """First 16 hex digits of sha256 over a canonical text; the name of a run."""
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def fingerprint_problem(run_id: str, config: str) -> str | None:
    """Why ``run_id`` is not the first 16 hex digits of sha256 of its canonical JSON configuration; None if it is."""
    try:
        content = json.loads(config)
        written = canonical_json(content), canonical_json(content, ascii_only=False)
    except (ValueError, RecursionError) as error:
        return f"run {run_id}: its configuration is not JSON: {error}"
    if config not in written:
        return f"run {run_id}: its configuration is not canonical JSON (sorted keys, no spaces)"
    fingerprint = fingerprint_of(config)
    return (
        None
        if fingerprint == run_id
        else f"run {run_id}: the fingerprint of its configuration is {fingerprint}; it was changed after the run"
    )


def stored_provenance(config: str) -> dict[str, Any]:
    """Field of ``Provenance`` -> its value in a stored configuration; fields that it lacks are left out."""
    names = {field.alias or name: name for name, field in Provenance.model_fields.items()}
    return {names[key]: value for key, value in stored_configuration(config).items() if key in names}


def stored_configuration(config: str) -> dict[str, Any]:
    """A run's stored configuration; empty if it is no JSON object, which `check` reports."""
    try:
        content = json.loads(config)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def tokenizer_id(name: str, tokens: Sequence[str]) -> str:
    """``NAME-SIZE-CHECKSUM``: the tokenizer's id in a run's row and in the file of its vocabulary."""
    return f"{name}-{len(tokens)}-{tokens_checksum(tokens)}"


def tokens_checksum(tokens: Sequence[str]) -> str:
    """First 8 hex digits of sha256 over the JSON list of the tokens by id."""
    return hashlib.sha256(json.dumps(list(tokens), ensure_ascii=False).encode(errors="surrogatepass")).hexdigest()[:8]
