"""With how many threads and in which number format torch computes, for those who do not import it themselves."""

import torch


def set_threads(threads: int | None) -> int:
    """Lets torch compute with that many threads, None leaving them as they are, and says with how many it does."""
    if threads is not None:
        torch.set_num_threads(threads)
    return thread_count()


def thread_count() -> int:
    """Threads that torch computes with; part of a run's configuration, as sums depend on it."""
    return torch.get_num_threads()


def number_format(name: str) -> torch.dtype:
    """Torch's type for the number format that a configuration names, such as ``float64``."""
    found: torch.dtype = getattr(torch, name)
    return found
