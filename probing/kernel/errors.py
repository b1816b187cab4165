"""One error class per cause, which says what was got, what was expected and what to do; and what workflows print."""

from collections.abc import Callable


class ProbingError(Exception):
    """Base of every error that a user can fix; commands print it without a traceback."""


class OptionError(ProbingError):
    """Options contradict each other, or one has an unknown form."""


class FigureError(ProbingError):
    """A figure cannot show what was chosen; the message names the argument to narrow."""


class FactsError(ProbingError):
    """A facts file or folder is missing, unreadable or malformed."""


class EdgeDataError(ProbingError):
    """Data of an edge-probing task are missing, unreadable or malformed; the message names the file and the line."""


class SentenceDataError(ProbingError):
    """Data of a sentence-level task are missing, unreadable or malformed; the message names file and line."""


class TextError(ProbingError):
    """A text that models are measured on is missing, unreadable or too short."""


class PromptError(ProbingError):
    """A typed prompt cannot be used: no mask, several masks, too long."""


class ModelError(ProbingError):
    """A model folder or hub id cannot be used for probing."""


class HeadError(ProbingError):
    """A decoding head is missing, incomplete or belongs to another model or layer."""


class NoOwnHead(HeadError):
    """A body has no own masked-LM head, and the model that it was fine-tuned from is not named."""


class StoreError(ProbingError):
    """A Parquet file is missing, truncated, foreign or of an older version."""


class NewerVersionError(StoreError):
    """A results file was written by a newer version of the program; it is neither read nor replaced."""


class CacheError(StoreError):
    """A folder of the cache cannot be written."""


class LockError(ProbingError):
    """A lock cannot be had, so two processes could work on the same files."""


class NoLocksError(LockError):
    """The file system has no locks."""


class RegistryError(ProbingError):
    """A name is not in the registry, or a file does not match its recorded sha256."""


class IncompleteCopyError(RegistryError):
    """A folder of local copies lacks a part; the parts that it has were copied."""


class PublishedError(ProbingError):
    """A file of published numbers is missing or malformed, or a figure is not in it."""


class HubError(ProbingError):
    """Heads or predictions cannot be pushed or pulled: missing, damaged, foreign, or in conflict with others."""


class JobError(ProbingError):
    """Work cannot be distributed, its folder is not shared, or too many workers died."""


Say = Callable[[str], None]


class ProgressBar:
    """A progress bar with the remaining time, called with the progress of the work."""

    def __init__(self, title: str, unit: str = "step"):
        from tqdm import tqdm

        self._bar = tqdm(desc=title, unit=unit, unit_scale=True)

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def moved(self, done: int, total: int) -> None:
        """Shows how much is done, of how much at most."""
        self._bar.total = total
        self._bar.update(done - self._bar.n)
