"""A model in a notebook: cloze sentences, facts, spans and whole sentences."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probing.api.answer import Answer
from probing.api.wording import in_a_notebook
from probing.core.errors import HeadError, ModelError
from probing.core.head_kinds import HEADS, LOGIT_LENS, STORED, TIED, canonical_head
from probing.core.model_folders import check_name, find_entry
from probing.core.paths import cache_folder
from probing.core.questions import SeveralMasks
from probing.core.registry import ModelEntry
from probing.models.encoders.catalogue import open_encoder
from probing.models.encoders.in_memory import encoder_of
from probing.models.encoders.load import Encoder
from probing.models.heads.files import heads_folder, train_command
from probing.models.knowledge.ask import LiveModel, load_live

if TYPE_CHECKING:
    import pandas as pd

    from probing.api.probed import Probed
    from probing.api.sentence import SentenceAnswer
    from probing.api.spans import SpanAnswer
    from probing.models.encoders.load import PreTrainedModel, PreTrainedTokenizerBase


class Model:
    """An encoder with a decoding head per layer, ready for predictions; made by ``probing.load``.

    >>> import probing
    >>> probing.load("nesia-mini", device="cpu")
    Model('nesia-mini', head='tied', 8 layers of 192, on cpu)
    """

    def __init__(self, live: LiveModel, entry: ModelEntry, source: str | None, base: str | None):
        self.live, self.source = live, source
        self.entry, self.base = entry, base

    @property
    def name(self) -> str:
        """Name of the model in results."""
        return self.live.encoder.name

    @property
    def head(self) -> str:
        """Kind of the decoding heads of its layers."""
        return self.live.kind

    @property
    def encoder(self) -> Encoder:
        """The encoder with its tokenizer; ``encoder.layers`` is the number of layers above the embeddings."""
        return self.live.encoder

    def __repr__(self) -> str:
        of = self.encoder
        return f"Model({self.name!r}, head={self.head!r}, {of.layers} layers of {of.hidden}, on {of.device})"

    def ask(self, sentence: str, top: int = 5, watch: Sequence[str] = (), mask: int | None = None) -> Answer:
        """Predicts the gap of a sentence at every layer.

        Args:
            sentence: text with a gap, written ``[MASK]``, ``<mask>`` or ``___``.
            top: number of best tokens per layer, from 1 to the size of the vocabulary.
            watch: words to follow through the layers; each must be one token.
            mask: which of several gaps is predicted, counted from 0; the others stay gaps.

        Returns:
            The predictions of the layers 0 (the embeddings) to L.

        Raises:
            PromptError: if the sentence has no gap, several gaps without ``mask``, or more word pieces than the model takes; if a
                watched word is several tokens; or if ``top`` or ``mask`` is out of range.

        >>> import probing
        >>> model = probing.load("nesia-mini")
        >>> model.ask("The capital of France is [MASK].", top=3).table.tail(3)["token"].tolist()
        ['paris', 'lyon', 'france']
        >>> model.ask("Lyon is in [MASK] and [MASK].", top=1, mask=1).table.tail(1)["token"].tolist()
        ['france']
        """
        words = (watch,) if isinstance(watch, str) else tuple(watch)
        try:
            return Answer(self.live.ask(sentence, top, words, mask))
        except SeveralMasks as error:
            raise SeveralMasks(f"{error} (mask=0 is the first)", error.positions) from None

    def probe(
        self,
        facts: "str | Path | pd.DataFrame | Iterable[Mapping[str, Any]]",
        *,
        called: str | None = None,
        templates: str | None = None,
        out: str | Path | None = None,
        progress: bool = True,
    ) -> "Probed":
        """Probes facts at every layer, like the command ``probe``, and stores the predictions.

        A second call with the same facts reads the stored predictions. After an interruption, another call resumes.

        Args:
            facts: a table or a list of dicts with ``subject, relation, object, prompt``, where the prompt has one gap (``[MASK]`` or
                ``___``); the path of a JSONL or CSV file with the same columns, or of a folder in LAMA's layout; or the name of shipped
                facts: ``trex``, ``google_re``, ``common_sense``, ``questions`` or ``all``.
            called: name of your own facts in results; by default the name of the file, or ``own-facts``.
            templates: name of a template set; by default that of the LAMA folder, else ``default``.
            out: folder of the runs; by default the folder ``runs`` of the cache, which ``probing.results()`` and the pages read.
            progress: whether to show a progress bar.

        Returns:
            The stored predictions: one row per fact and layer, layer curves, and the number of facts that were left out.

        Raises:
            FactsError: if the facts do not exist, or lack a column or a cell.
            ModelError: if there are stored runs of another model with this model's name.

        >>> import probing
        >>> prompt = "The capital of France is [MASK]."
        >>> fact = {"subject": "France", "relation": "capital", "object": "Paris", "prompt": prompt}
        >>> found = probing.load("nesia-mini").probe([fact], progress=False)
        >>> found.table[["subject", "object", "layer", "rank"]].tail(1)
          subject object  layer  rank
        8  France  Paris      8     1
        """
        from probing.api.probed import probe_facts

        with in_a_notebook():
            return probe_facts(self, facts, called=called, templates=templates, out=None if out is None else Path(out), progress=progress)

    def edges(self, sentence: str, spans: Sequence[tuple[int, int]], tasks: Sequence[str] | None = None) -> "SpanAnswer":
        """Predictions of the edge probes of every layer for one or two spans of a sentence: see ``probing.api.spans.ask_spans``."""
        from probing.api.spans import ask_spans

        with in_a_notebook():
            return ask_spans(self, sentence, spans, tasks)

    def sentence(self, text: str, second: str | None = None, tasks: Sequence[str] | None = None) -> "SentenceAnswer":
        """Predictions of the sentence probes of every layer for a whole sentence: see ``probing.api.sentence.ask_sentence``."""
        from probing.api.sentence import ask_sentence

        with in_a_notebook():
            return ask_sentence(self, text, second, tasks)


def open_model(
    model: "str | Path | PreTrainedModel",
    head: str = TIED,
    *,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    base: str | None = None,
    device: str = "auto",
    name: str | None = None,
) -> Model:
    """The model of ``probing.load``, which documents arguments and errors."""
    with in_a_notebook():
        head = canonical_head(head)
        if head not in HEADS:
            raise HeadError(f"head kind {head!r} is unknown; expected one of {', '.join(HEADS)}")
        if isinstance(model, str | Path):
            if tokenizer is not None:
                raise ModelError(f"got a tokenizer with {str(model)!r}, which has its own; give a tokenizer only with a model in memory")
            source: str | None = str(model)
            encoder, entry = open_encoder(str(model), base, device, name=name), find_entry(str(model), base, name)
        else:
            if name is not None:
                check_name(name)
            source = None
            lent = None if base is None else partial(open_encoder, base, None, device)
            encoder = encoder_of(model, tokenizer, name=name, base=lent, device=device)
            entry = ModelEntry(name=encoder.name, source="", base=base or "", licence="unknown", objective="unknown")
        folder = heads_folder(source, encoder, head, cache_folder()) if head in STORED else None
        if folder is None and head in STORED:
            raise _not_trained(encoder, head, source)
        return Model(load_live(encoder, head, folder), entry, source, base)


def _not_trained(encoder: Encoder, kind: str, source: str | None) -> HeadError:
    """Error for untrained heads of a kind: use the pre-trained head, or train heads."""
    asked = "model, tokenizer=tokenizer" if source is None else repr(source)
    saved = " for the model saved in a folder (save_pretrained)" if source is None else ""
    return HeadError(
        f"no {kind} heads are trained for {encoder.name}. Read its layers with the logit lens, which needs no training: "
        f'probing.load({asked}, head="{LOGIT_LENS}"). Or train heads{saved}: {train_command(encoder, kind)}'
    )
