"""Torch's threads and number formats, for modules that do not import torch; and quiet loading by transformers."""

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import transformers

#: Numbers of glibc's settings of memory, of its ``malloc.h``.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
#: Bytes: an array up to this size stays in the process when it is freed, and the heap grows by so many at a time.
_KEPT, _GROWTH = 1 << 30, 1 << 26


def set_threads(threads: int | None) -> int:
    """Prepares a long computation: keeps freed memory, and sets torch's number of threads, which it returns."""
    keep_freed_memory()
    if threads is not None:
        torch.set_num_threads(threads)
    return thread_count()


def keep_freed_memory() -> bool:
    """Lets this process keep freed memory for its next arrays; whether it does: Linux with glibc alone.

    By default glibc returns each large array to the system at once, and the system clears the pages of the next one:
    more than half of the time of a training step of many probes.
    """
    settings = {_MMAP_THRESHOLD: _KEPT, _TRIM_THRESHOLD: _KEPT, _TOP_PAD: _GROWTH}
    with contextlib.suppress(AttributeError, OSError, TypeError):  # Another C library, or another system.
        set_option = ctypes.CDLL(None).mallopt
        return all(bool(set_option(name, size)) for name, size in settings.items())
    return False


def thread_count() -> int:
    """Number of threads of torch; part of a run's configuration, because sums depend on it."""
    return torch.get_num_threads()


def number_format(name: str) -> torch.dtype:
    """Torch's dtype for a number format of a configuration, such as ``float64``."""
    dtype: torch.dtype = getattr(torch, name)
    return dtype


class _Quiet:
    """Silences transformers while models load, in any number of threads, and restores the earlier settings."""

    def __init__(self) -> None:
        self._lock, self._depth = threading.Lock(), 0
        self._verbosity, self._bars = 0, False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._depth == 0:
                self._verbosity, self._bars = (
                    transformers.logging.get_verbosity(),
                    transformers.logging.is_progress_bar_enabled(),
                )
                transformers.logging.set_verbosity_error()
                transformers.logging.disable_progress_bar()
            self._depth += 1
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0:
                    transformers.logging.set_verbosity(self._verbosity)
                    if self._bars:
                        transformers.logging.enable_progress_bar()


#: Used around loading: the loader reads transformers' report of missing weights as data and raises its own errors.
quiet_loading = _Quiet()
