"""The runs of sentence-level probing."""

from probing.core.sentences.run import SentenceRunConfig
from probing.core.sentences.tasks import SENTENCE_TASKS
from probing.store.kinds import Kind
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
)
