"""The wait of one user's questions while the app probes another user's file, against the time of the whole file."""

import threading
import time

from probing.core.sentences.tasks import read_upload
from probing.models.encoders.load import load_encoder
from probing.models.knowledge.ask import load_live
from probing.models.runtime.request_queue import Turns
from probing.models.runtime.torch_settings import thread_count
from probing.models.sentences.training.curve import quick_curve
from tests.speed.measurement import Measurement, random_bert_base, require_equal
from tests.speed.trex_prompts import bench_folder

#: Most of the file's time that a question may wait.
BOUND = 0.1
PROMPT = "Paris is the capital of [MASK]."


def measure(quick: bool = False) -> list[Measurement]:
    """Questions one after another, from the start of the file's probing to its end."""
    encoder = load_encoder(random_bert_base(bench_folder()), device="cpu")
    live, turns = load_live(encoder, "logit_lens", None), Turns()
    number, words = (100, 10) if quick else (600, 60)
    rows = [f"{'the dog ran and ' * (words // 4)}{place}\t{('even', 'odd')[place % 2]}\n" for place in range(number)]
    _, data = read_upload(f"sentence\tlabel\n{''.join(rows)}".encode(), "file.tsv")
    wanted = live.ask(PROMPT).layers
    whole: list[float] = []

    def probe() -> None:
        with turns.turn("one user", threading.current_thread()) as turn:
            started = time.perf_counter()
            quick_curve(data, encoder, pause=turn.pause)
            whole.append(time.perf_counter() - started)

    work = threading.Thread(target=probe)
    work.start()
    waits = []
    while work.is_alive():
        asked = time.perf_counter()
        with turns.turn("another user", threading.current_thread()):
            waits.append(time.perf_counter() - asked)
            require_equal(live.ask(PROMPT).layers == wanted, "an answer between two pieces differs from the answer alone")
        time.sleep(0.5)
    work.join()
    return [
        Measurement(
            "waiting, longest of a question next to a file of sentences",
            max(waits),
            "the time of the whole file, with the questions",
            whole[0],
            max(waits) / whole[0],
            BOUND,
            True,
            "the answers between two pieces and alone",
            f"{number} sentences of {words} words, {len(waits)} questions, {thread_count()} threads",
        )
    ]
