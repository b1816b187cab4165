"""A model in a notebook: cloze sentences, facts, spans and whole sentences."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probing.api.answers import Answer, SentenceAnswer, SpanAnswer, TokenAnswer, ask_sentence, ask_spans
from probing.api.arguments import in_a_notebook, optional_folder, optional_text, several, text, whole_number
from probing.facts.requests import AMONG_CANDIDATES, DTYPES, INDEPENDENT
from probing.heads.files import chosen_heads, no_heads_note, train_command
from probing.kernel.errors import HeadError, ModelError, OptionError, PromptError
from probing.kernel.files import cache_folder
from probing.kernel.models.catalogue import at_same_commits, open_encoder, require_base
from probing.kernel.models.load import Encoder, encoder_of
from probing.kernel.models.names import HEADS, LOGIT_LENS, STORED, canonical_head, check_name, find_entry, listed
from probing.kernel.models.torch_settings import number_format
from probing.kernel.questions import SeveralMasks, with_masks
from probing.kernel.registry import ModelEntry
from probing.kernel.report import refuse_unknown_words
from probing.live.ask import LiveModel, load_live

if TYPE_CHECKING:
    import pandas as pd

    from probing.api.probed import Probed
    from probing.kernel.models.load import PreTrainedModel, PreTrainedTokenizerBase

_log = logging.getLogger(__name__)


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
        """The encoder with its tokenizer; ``encoder.depth`` is the number of layers above the embeddings."""
        return self.live.encoder

    def __reduce__(self) -> Any:
        raise TypeError(
            "a loaded model cannot be pickled; pickle its answers, or load it where it is used: probing.load(...)"
        )

    def __repr__(self) -> str:
        of = self.encoder
        return f"Model({self.name!r}, head={self.head!r}, {of.depth} layers of {of.hidden}, on {of.device})"

    def ask(
        self,
        sentence: str,
        top: int = 5,
        watch: str | Sequence[str] | None = None,
        mask: int | None = None,
        pieces: int | None = None,
    ) -> Answer:
        """Predicts the gap of a sentence at every layer.

        A gap of several tokens is filled best first by every layer (confidence-based decoding, Jiang et al. 2020,
        X-FACTR): of all masks and tokens the most probable one is filled, the others are predicted again, and the five
        best go on. The probability of a phrase is the product of those that its tokens had when they were filled.

        Args:
            sentence: text with a gap, written ``[MASK]``, ``<mask>`` or ``___``.
            top: number of best tokens, or phrases, per layer, from 1 to the size of the vocabulary.
            watch: a word or words to follow through the layers, each of one to five tokens. Several tokens are all
                masked and each is read at its own mask (``independent`` of ``rank``): the probability is their product,
                the rank the worst of theirs, so 1 if the layer, filling every mask by itself, says exactly this word.
            mask: which of several gaps is predicted, counted from 0; the others stay gaps.
            pieces: number of tokens that fill the gap, from 1 to 5; by default as many as the first watched word has,
                else 1.

        Returns:
            The predictions of the layers 0 (the embeddings) to L.

        Raises:
            OptionError: if an argument has another type.
            PromptError: if the sentence has no gap, several gaps without ``mask``, or more word pieces than the model
                takes; if a watched word has no tokens of its own, or more than five; or if ``top``, ``mask`` or
                ``pieces`` is out of range.

        >>> import probing
        >>> model = probing.load("nesia-mini")
        >>> model.ask("The capital of France is [MASK].", top=3).table.tail(3)["rank"].tolist()
        [1, 2, 3]
        >>> model.ask("Lyon is in [MASK] and [MASK].", top=1, mask=1).table["layer"].tolist()
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        >>> model.ask("Rocky Balboa was born in [MASK].", top=1, pieces=3).table.tail(1)["token"].tolist()
        ['philadelphia in philadelphia']
        """
        text("sentence", sentence, "one text with a gap, as in 'Paris is the capital of [MASK].'")
        number = None if mask is None else whole_number("mask", mask)
        filled = None if pieces is None else whole_number("pieces", pieces)
        try:
            return Answer(
                self.live.ask(sentence, whole_number("top", top), several("watch", watch, none=True), number, filled)
            )
        except SeveralMasks as error:
            raise SeveralMasks(f"{error} (mask=0 is the first)", error.positions) from None

    def swap(self, first: str, second: str, top: int = 5, watch: str | Sequence[str] | None = None) -> Answer:
        """What the second sentence says if its gap gets the first one's state after each layer.

        Args:
            first, second: texts with one gap each.
            top, watch: as in ``ask``, of words of one token.

        Returns:
            The predictions of the last layer, in the row of layer l with the state after layer l: at the last those of
            the first sentence.

        Raises:
            OptionError, PromptError: as in ``ask``.
            ModelError: if the architecture has no layers as modules.

        >>> import probing
        >>> of = "{} is the capital of [MASK].".format
        >>> swapped = probing.load("nesia-mini").swap(of("Paris"), of("Rome"))
        >>> swapped.table.query("rank == 1")["token"].iloc[[0, -1]].tolist()
        ['italy', 'france']
        """
        from probing.live.swap import ask_swapped

        with in_a_notebook():
            first, second = (text(*each, "one text with a gap") for each in (("first", first), ("second", second)))
            followed = several("watch", watch, none=True)
            return Answer(ask_swapped(self.live, first, second, whole_number("top", top), followed))

    def cut(
        self, sentence: str, words: str | Sequence[str], top: int = 5, watch: str | Sequence[str] | None = None
    ) -> Answer:
        """What a sentence says if its gap does not see some words above each layer.

        Args:
            sentence: text with one gap.
            words: of the sentence, hidden wherever they occur; all other tokens still see them.
            top, watch: as in ``swap``.

        Returns:
            The predictions of the last layer; in the row of layer l the words are hidden above it, so in the last none.

        Raises:
            OptionError, PromptError: as in ``ask``, and if the sentence lacks a word.
            ModelError: as in ``swap``, or if attention takes no mask of single tokens.

        >>> import probing
        >>> cut = probing.load("nesia-mini").cut("Paris is the capital of [MASK].", "Paris", watch="france")
        >>> cut.table.query("rank == 1")["token"].iloc[-1]
        'france'
        """
        from probing.live.swap import ask_cut

        with in_a_notebook():
            sentence = text("sentence", sentence, "one text with a gap")
            hidden, followed = several("words", words), several("watch", watch, none=True)
            return Answer(ask_cut(self.live, sentence, hidden, whole_number("top", top), followed))

    def every_token(self, sentence: str, top: int = 5) -> TokenAnswer:
        """Predicts every token of a sentence at every layer; the sentence needs no gap.

        Args:
            sentence: the text.
            top: number of best tokens per layer and token, from 1 to the size of the vocabulary.

        Returns:
            The predictions of the layers 0 (the embeddings) to L at every word piece, special tokens included.

        Raises:
            OptionError: if an argument has another type.
            PromptError: if the sentence is empty or has more word pieces than the model takes, or ``top`` is out of
                range.
        """
        return TokenAnswer(self.live.every_token(text("sentence", sentence, "one text"), whole_number("top", top)))

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
            facts: a DataFrame, an Arrow table or a list of dicts with ``subject, relation, object, prompt``, where the
                prompt has one gap (``[MASK]`` or ``___``); the path of a file with such a table (CSV, TSV, JSON or
                Parquet), or of a folder in LAMA's layout; or the name of shipped facts: ``trex``, ``google_re``,
                ``common_sense``, ``questions``, ``everyday`` or ``all`` of them, or ``bear`` if fetched. Answers of
                several tokens, such as those of ``phrases``, are left out: ``rank_facts`` ranks them.
            called: name of your own facts in results; by default the name of the file, or ``own-facts``.
            templates: name of a template set; by default that of the LAMA folder, else ``default``.
            out: folder of the runs; by default the folder ``runs`` of the cache, which ``probing.results()`` and the
                pages read.
            progress: whether to show a progress bar.

        Returns:
            The stored predictions: one row per fact and layer, layer curves, and the number of facts that were left
                out.

        Raises:
            FactsError: if the facts do not exist, lack a column or have it twice, or a cell is no text.
            OptionError: if another argument has another type.
            CacheError: if the cache or the folder ``out`` cannot be written, or the disk is full.
            ModelError: if there are stored runs of another model with this model's name.

        >>> import probing
        >>> prompt = "Rocky Balboa was born in [MASK]."
        >>> fact = {"subject": "Rocky Balboa", "relation": "place of birth", "object": "Philadelphia", "prompt": prompt}
        >>> found = probing.load("nesia-mini").probe([fact], progress=False)
        >>> found.table[["object", "layer", "rank"]].tail(1).values.tolist()
        [['Philadelphia', 8, 1]]
        """
        from probing.api.probed import probe_facts

        with in_a_notebook():
            optional_text("templates", templates, "the name of a template set")
            called = optional_text("called", called, "a name for your own facts")
            return probe_facts(
                self, facts, called=called, templates=templates, out=optional_folder("out", out), progress=progress
            )

    def rank(self, prompt: str, candidates: Sequence[str], measure: str = INDEPENDENT) -> "pd.DataFrame":
        """Ranks candidates for the gap of a sentence at every layer, words or phrases of any number of tokens.

        Args:
            prompt: text with one gap, written ``[MASK]``, ``<mask>`` or ``___``.
            candidates: two or more different words or phrases.
            measure: the log-likelihood of a candidate is the sum over its tokens of log p(token). ``independent``: all
                its tokens are masked. ``answer_l2r``: a token is scored with itself and the later ones masked.
                ``within_word_l2r`` (Kauf and Ivanova 2023): with itself and the later ones of its word masked. The
                last two score the 50 best of ``independent`` at each layer, and rank all others behind them.

        Returns:
            One row per layer (0, the embeddings, to L) and candidate: ``layer, candidate, pieces`` (its tokens),
            ``rank`` (from 1; candidates that tie have their mean rank), ``log_likelihood`` in nats,
            ``alone_log_likelihood`` (the same without the prompt), ``pmi_rank`` (by the difference of the two), and
            ``left_out`` (why the candidate cannot stand in the gap; empty if it can). What is not scored is NaN.

        Raises:
            OptionError: if an argument has another type, or the measure is unknown.
            PromptError: if the sentence has no gap or several, or more word pieces than the model takes.

        >>> import probing
        >>> model = probing.load("nesia-mini")
        >>> ranks = model.rank("Rocky Balboa was born in [MASK].", ["Philadelphia", "New York City"])
        >>> ranks.query("layer == 8")[["candidate", "rank"]].values.tolist()
        [['Philadelphia', 1.0], ['New York City', 2.0]]
        """
        import numpy as np
        import pandas as pd

        from probing.facts.candidates import Scorer, rank_all
        from probing.kernel.fact import MASK, TOO_LONG

        with in_a_notebook():
            sentence = text("prompt", prompt, "one text with a gap, as in 'Paris is the capital of [MASK].'")
            refuse_unknown_words("measure", (measure,), AMONG_CANDIDATES)
            texts = several("candidates", candidates)
            if len(texts) < 2:
                raise OptionError(f"got {len(texts)} candidates; expected two or more different words or phrases")
            if (gaps := self.live.gaps(sentence)) != 1:
                raise PromptError(f"the prompt has {gaps} gaps; expected one")
            encoder = self.encoder
            sentence = with_masks(sentence.replace(encoder.tokenizer.mask_token, MASK))
            cut, columns = rank_all(sentence, texts, Scorer(encoder, self.live.heads, range(encoder.layers), measure))
        fits, layers = ~np.isnan(columns["rank"][0]), encoder.layers
        left_out = [why or ("" if fit else TOO_LONG) for why, fit in zip(cut.reasons, fits, strict=True)]
        table = {"layer": np.repeat(np.arange(layers), len(texts)), "candidate": [*texts] * layers}
        table |= {"pieces": np.tile(cut.lengths, layers), **{name: of.reshape(-1) for name, of in columns.items()}}
        names = ["layer", "candidate", "pieces", "rank", "log_likelihood", "alone_log_likelihood", "pmi_rank"]
        return pd.DataFrame(table)[names].assign(left_out=left_out * layers)

    def rank_facts(
        self,
        facts: "str | Path | pd.DataFrame | Iterable[Mapping[str, Any]]",
        measure: str = INDEPENDENT,
        *,
        candidates: str | Path | None = None,
        called: str | None = None,
        templates: str | None = None,
        out: str | Path | None = None,
        progress: bool = True,
    ) -> "pd.DataFrame":
        """Ranks the right answers of facts, of any number of tokens, among candidates, like ``probe --measure``.

        The ranks are stored, and a second call reads them. A warning counts the facts that are left out, by reason.

        Args:
            facts, called, templates, out, progress: as for ``probe``; ``phrases`` have answers of several tokens.
            measure: how candidates are scored, as for ``rank``.
            candidates: a file with one candidate per line; by default the answers of the fact's relation.

        Returns:
            One row per fact and layer (0, the embeddings, to L), with the columns of ``python -m probing candidates
            report facts --json``: ``rank`` from 1, candidates that tie (``tied``) have their mean rank; ``candidates``,
            their number, without the ``filtered`` other right answers; ``best``, the first one; ``pieces``, tokens of
            the right answer; ``log_likelihood`` in nats, ``alone_rank`` and ``pmi_rank`` as for ``rank``, and others.

        Raises:
            FactsError, CacheError, ModelError: as for ``probe``, also for the file of candidates.
            OptionError: if another argument has another type, or the measure is unknown.

        >>> import probing
        >>> born = {"Bob Dylan": "New York City", "Rocky Balboa": "Philadelphia"}
        >>> facts = [
        ...     {"subject": name, "relation": "born in", "object": city, "prompt": f"{name} was born in [MASK]."}
        ...     for name, city in born.items()
        ... ]
        >>> ranks = probing.load("nesia-mini").rank_facts(facts, called="births", progress=False)
        >>> ranks.query("layer == 8")[["object", "pieces", "rank", "candidates"]].values.tolist()
        [['New York City', 3, 2.0, 2], ['Philadelphia', 1, 1.0, 2]]
        """
        from probing.api.probed import rank_facts

        with in_a_notebook():
            refuse_unknown_words("measure", (measure,), AMONG_CANDIDATES)
            optional_text("templates", templates, "the name of a template set")
            called = optional_text("called", called, "a name for your own facts")
            given = str(candidates) if isinstance(candidates, Path) else candidates
            listed_in = optional_text("candidates", given, "the path of a file with one candidate per line")
            options = {"measure": measure, "candidates": listed_in and Path(listed_in), "progress": progress}
            return rank_facts(self, facts, called, templates, out=optional_folder("out", out), **options)

    def edges(self, sentence: str, spans: Sequence[tuple[int, int]], tasks: Sequence[str] | None = None) -> SpanAnswer:
        """Predicts labels of words of a sentence at every layer, by edge probes.

        A sentence is split into words as in treebanks: punctuation is separate, and "don't" is "do" and "n't". A text
        whose words are already separated by spaces stays unchanged. Every error about spans lists the words with their
        numbers.

        Args:
            sentence: the sentence. If it has more word pieces than the model takes, its end is cut off, as in the
                training of the probes; a span in the part that is cut off is an error.
            spans: one or two spans of words, each (start, end), counted in words from 0, with the end exclusive: (3, 5)
                is the fourth and the fifth word. Tasks of one span use each of them, tasks of two spans both in this
                order. Tasks whose spans are single words are left out if a span is longer.
            tasks: names of tasks; None takes all that have probes. ``python -m probing edges tasks`` lists them.

        Returns:
            The predictions of every task that fits the spans: ``words``, ``answers``, ``table`` and ``figure()``.

        Raises:
            OptionError: if the sentence is empty or not a text, the number of spans is not 1 or 2, or a task has no
                probes or needs two spans where there is one.
            EdgeDataError: if a span is not a pair of integers, is outside the sentence or the part that the model
                takes, or has no word pieces.
            HeadError: if no probes are trained on this model, or their files are damaged.

        >>> import probing
        >>> words = probing.load("nesia-mini").edges("The old king lived in France.", [(2, 3)], tasks=["pos"])
        >>> words.words
        ('The', 'old', 'king', 'lived', 'in', 'France', '.')
        >>> words.answers[["task", "span1"]].values.tolist()
        [['pos', '2:3']]
        """
        with in_a_notebook():
            return ask_spans(self, sentence, spans, tasks)

    def sentence(self, text: str, second: str | None = None, tasks: Sequence[str] | None = None) -> SentenceAnswer:
        """Predicts properties of a sentence, or of a pair, at every layer by sentence probes, and measures attention.

        A fine-tuned model is compared with the model that it was fine-tuned from. Attention needs no probes; the
        verdicts do. If one of the two has no probes, a warning has the command that trains some; if neither has any,
        ``table`` raises an error with it.

        Args:
            text: the sentence.
            second: a second sentence, read after the first; the probes of tasks on pairs are then used.
            tasks: names of tasks; None takes all that have probes. ``python -m probing sentences tasks`` lists them.

        Returns:
            The verdicts of the probes and the attention: ``table``, ``attention``, ``heads``, ``same_word`` and
            ``figure()``.

        Raises:
            PromptError: if the sentence is empty or too long for the model.
            OptionError: if an argument is no text, or a task has no probes for this number of sentences.
            ModelError: if the base cannot be opened, or the two models split the sentence into different word pieces.
            HeadError: if a file of probes is damaged, or tasks are named and neither model has probes.

        >>> import probing
        >>> model = probing.load("nesia-mini")
        >>> sentence = model.sentence("The old men are walking in the park.", tasks=["subject-number"])
        >>> sentence.table[["task", "pooling", "layer", "label"]].tail(1).values.tolist()
        [['subject-number', 'mean', 8, 'plural']]
        """
        with in_a_notebook():
            return ask_sentence(self, text, second, tasks)


def open_model(
    model: "str | Path | PreTrainedModel",
    head: str | None = None,
    *,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    base: str | Path | None = None,
    device: str = "auto",
    dtype: str = "float32",
    name: str | None = None,
    revision: str | None = None,
) -> Model:
    """The model of ``probing.load``, which documents arguments and errors."""
    with in_a_notebook():
        head = None if head is None else canonical_head(text("head", head, listed()))
        text("device", device, "auto, cpu, cuda or mps")
        refuse_unknown_words("dtype", (dtype,), DTYPES)
        numbers = number_format(dtype)
        name = optional_text("name", name)
        revision = optional_text("revision", revision, "a branch, tag or commit of a model on the hub")
        base = optional_text("base", str(base) if isinstance(base, Path) else base, "the name or folder of a model")
        if head is not None and head not in HEADS:
            raise HeadError(f"head kind {head!r} is unknown; expected one of {', '.join(HEADS)}")
        if isinstance(model, str | Path):
            text("model", str(model))
            if tokenizer is not None:
                raise ModelError(
                    f"got a tokenizer with {str(model)!r}, which has its own; give a tokenizer only with a model in"
                    " memory"
                )
            source: str | None = str(model)
            encoder = open_encoder(str(model), base, device, numbers, name, revision)
            entry = at_same_commits(find_entry(str(model), base, name, revision), encoder)
        else:
            if revision is not None:
                raise ModelError(f"got the revision {revision!r} of a model in memory; only models of the hub have one")
            if name is not None:
                check_name(name)
            source = None
            lent = None if base is None else partial(open_encoder, base, None, device)
            encoder = encoder_of(model, tokenizer, name=name, base=lent, device=device, dtype=numbers)
            entry = ModelEntry(name=encoder.name, source="", base=base or "", licence="unknown", objective="unknown")
            require_base(entry)
        kind, folder = chosen_heads(source, encoder, head, cache_folder())
        if folder is None and kind in STORED:
            raise _not_trained(encoder, kind, source)
        if head is None and kind == LOGIT_LENS:
            _log.warning("%s", no_heads_note(encoder))
        return Model(load_live(encoder, kind, folder), entry, source, base)


def _not_trained(encoder: Encoder, kind: str, source: str | None) -> HeadError:
    """Error for untrained heads of a kind: use the pre-trained head, or train heads."""
    asked = "model, tokenizer=tokenizer" if source is None else repr(source)
    saved = " for the model saved in a folder (save_pretrained)" if source is None else ""
    return HeadError(
        f"no {kind} heads are trained for {encoder.name}. Read its layers with the logit lens, which needs no"
        " training: "
        f'probing.load({asked}, head="{LOGIT_LENS}"). Or train heads{saved}: {train_command(encoder, kind)}'
    )
