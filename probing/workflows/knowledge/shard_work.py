"""The work of ``probe``, in any process: one slice of a run's facts after the other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.models.encoders.load import refuse_differing
from probing.models.heads.files import heads_fingerprint, load_heads
from probing.models.knowledge.probe import ProbeWork, probe_shards, shard_numbers
from probing.workflows.stored_runs import ModelWork


@dataclass(frozen=True)
class Probing(ProbeWork, ModelWork):
    """Probes a run's facts; a shard is a slice of them.

    Attributes:
        heads_folder: of the heads, which each process reads by itself; None for the logit lens.
    """

    heads_folder: Path | None = None

    @property
    def folder(self) -> Path:
        """With the manifest and the shards."""
        return self.shards_folder / self.config.run_id

    @property
    def shards(self) -> dict[str, int]:
        """Name of each shard -> its number."""
        return {f"shard-{number:05d}": number for number in shard_numbers(len(self.facts), self.config.shard)}

    def do(self, names: Sequence[str], finished: Callable[[str, Sequence[Path]], None]) -> None:
        """Does shards in order; each is recorded when it is written, while the next ones are computed."""
        shards = self.shards
        numbers = {shards[name]: name for name in names}
        probe_shards(self, numbers, lambda number, path: finished(numbers[number], [path]))

    def __getstate__(self) -> tuple[int, dict[str, Any]]:
        threads, values = super().__getstate__()
        return threads, values | {"heads": ()}

    def __setstate__(self, state: tuple[int, Mapping[str, Any]]) -> None:
        super().__setstate__(state)
        head, layers = self.config.head, self.wanted
        found = heads_fingerprint(self.heads_folder, self.encoder, head, layers[0])
        refuse_differing("heads", found, self.config.recipe)
        vars(self)["heads"] = load_heads(self.heads_folder, self.encoder, head, layers)
