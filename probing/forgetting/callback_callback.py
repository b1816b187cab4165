"""``probing.ForgettingCallback``: the facts that a training with the Trainer of transformers forgets, while it runs."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from probing.forgetting.callback import Asking, AskingCallback, Watched
from probing.forgetting.follow_stored_series import Training, series_config, series_files, write_series
from probing.forgetting.recover_facts import one_set
from probing.forgetting.series_progress import progress
from probing.kernel.files import runs_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.torch_settings import thread_count
from probing.kernel.registry import name_of_model


class ForgettingCallback(AskingCallback):
    """Asks a model for facts while it is trained, logs what it forgets, and stores a series.

    Add it to any ``transformers.Trainer``. At the first step, at every ``every`` steps and at the last one, the model
    predicts the same facts at every layer. Facts that it answers rightly before the training count as known; of these,
    the Trainer logs how many are *kept*, *lost* and *returned*, how many others are *gained*, and the share known
    beyond the swapped subject, at the last layer (``forgetting_lost``) and by layer (``forgetting_lost_layer_3``).
    ``report_to`` of the Trainer decides who gets them. The training
    itself is unchanged: its weights are those of a training without the callback.

    Args:
        facts: name of shipped facts, such as ``trex``; a LAMA folder; or a file of own facts.
        every: training steps from one asking to the next.
        layers: ``all``, ``last``, or numbers of layers from 0, the embeddings.
        base: name, hub id or folder of the model that the training begins with. Its masked-LM head reads a model that
            has none, such as a classifier; a model with its own head is read by that.
        seconds: how long one asking may take; as many facts are asked as this allows.
        size: number of facts, if not as ``seconds`` allows. A larger sample has all facts of a smaller one.
        name: of the trained model in results; by default the name of the Trainer's folder.
        out: folder of the results; by default the folder ``runs`` of the cache, which ``probing.results()`` and the
            pages read.

    Raises:
        FactsError: if there are no such facts, or several sets of them.
        OptionError: for a number that is out of range.

    >>> import probing
    >>> callback = probing.ForgettingCallback(facts="trex", every=100, size=500, base="nesia-mini")
    """

    def __init__(
        self,
        facts: str | Path = "trex",
        every: int = 100,
        layers: str | Sequence[int] = "all",
        base: str | Path | None = None,
        seconds: float = 5.0,
        size: int | None = None,
        name: str | None = None,
        out: str | Path | None = None,
    ):
        asking = Asking(one_set(str(facts)), every, layers, seconds, size)
        super().__init__(asking, None if base is None else partial(open_encoder, str(base), device="cpu"))
        self._name, self._out, self._base = (
            name,
            None if out is None else Path(out),
            None if base is None else str(base),
        )

    def finished(self, watched: Watched) -> None:
        """Stores the series."""
        first, asked = watched.encoder, watched.asked
        base = first.base if first.opens_base else name_of_model(self._base) if self._base else first.name
        training = Training(self._name or name_of_model(watched.output), base, first.weights_id)
        config = series_config(
            training, first, watched.last_weights, watched.questions, (asked.steps, asked.layers), thread_count()
        )
        files = series_files(config, self._out or runs_folder())
        write_series(files, first, asked, watched.questions, progress(watched.history, watched.metric))
        print(f"what was forgotten is stored as {files.file('series_runs')}")
