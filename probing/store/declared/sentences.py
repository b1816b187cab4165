"""The runs of sentence-level probing."""

from probing.core.sentences.run import SentenceRunConfig
from probing.core.sentences.tasks import SENTENCE_TASKS
from probing.store.kinds import Card, Kind
from probing.store.rules import sentences as rules
from probing.store.sentences.queries import sentence_runs
from probing.store.tables import sentences as tables

SENTENCES = Kind(
    "sentences",
    SentenceRunConfig,
    tables.TABLES,
    rules.RULES,
    rules.SCANS,
    about=tables.__doc__,
    listed=sentence_runs,
    command="sentences train",
    title="probes of sentences",
    open_tasks={name: task.open for name, task in SENTENCE_TASKS.items()},
    line="sentences {task:<22} {protocol}, seed {seed}, {n_test:,} tested{left}",
    card=Card(
        title="Sentence-level probing of every layer of {name}",
        about=(
            "Logistic regressions predict a label of the whole sentence from frozen layers, before and after"
            " fine-tuning (Mosbach et al. 2020): numbers of correct test sentences by layer, pooling and reading, pairs"
            " of probes on the same sentences, and attention, similarity and perplexity where they are stored."
        ),
        tags=("sentence-probing", "fine-tuning"),
        first=("sentence_scores", "change_values"),
        of_runs=".",
        columns={
            "task": lambda run: run.get("task", "what fine-tuning changed"),
            "protocol": lambda run: run.get("protocol", ""),
            "seed": "seed",
            "layers": "layers",
            "width": "width",
        },
        named=(
            "Sentences whose words may not be published, and those of a user's own files, are named by a hash of their"
            " text."
        ),
    ),
)
