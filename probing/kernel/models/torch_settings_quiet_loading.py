"""Suppresses output of transformers while models load."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import transformers


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
