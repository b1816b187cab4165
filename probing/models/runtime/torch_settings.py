"""Torch's number of threads and number formats, for modules that do not import torch themselves."""

import torch


def set_threads(threads: int | None) -> int:
    """Sets torch's number of threads, None leaves it unchanged; returns the number."""
    if threads is not None:
        torch.set_num_threads(threads)
    return thread_count()


def thread_count() -> int:
    """Number of threads of torch; part of a run's configuration, because sums depend on it."""
    return torch.get_num_threads()


def number_format(name: str) -> torch.dtype:
    """Torch's dtype for a number format of a configuration, such as ``float64``."""
    found: torch.dtype = getattr(torch, name)
    return found
