"""One request at a time per device, first come, first served; a user's newer request cancels the older one. Tests wait
for events.
"""

import threading
import time
from contextlib import suppress

import pytest

from probing.kernel.models.queue import Superseded, Turns, register
from probing.live.ask import load_live

#: No test waits so long; it only keeps a broken one from hanging.
PATIENCE = 20


class Run:
    """What a request belongs to."""


class Request(threading.Thread):
    """One user's request, which computes until it is released and checks before it ends."""

    def __init__(self, turns, log, visitor, run, name):
        super().__init__(daemon=True)
        self.turns, self.log, self.visitor, self.run_of, self.called = turns, log, visitor, run, name
        self.computes, self.go, self.superseded = threading.Event(), threading.Event(), False

    def run(self):
        try:
            with self.turns.turn(self.visitor, self.run_of) as check:
                self.log.append(f"{self.called} computes")
                self.computes.set()
                assert self.go.wait(PATIENCE)
                check()
                self.log.append(f"{self.called} answers")
        except Superseded:
            self.superseded = True
            self.log.append(f"{self.called} gives up")


class Desk:
    """Starts requests, each once the one before is in the queue."""

    def __init__(self):
        self.turns, self.log = Turns(), []

    def ask(self, visitor, run, name):
        before, request = self.turns.length, Request(self.turns, self.log, visitor, run, name)
        request.start()
        while request.is_alive() and self.turns.length == before:
            time.sleep(0.001)
        return request


@pytest.fixture()
def desk():
    return Desk()


def finish(*requests):
    for request in requests:
        request.go.set()
        request.join(PATIENCE)
        assert not request.is_alive()


def test_visitors_are_served_one_at_a_time_in_order_of_arrival(desk):
    runs = [Run() for _ in range(4)]
    requests = [desk.ask(f"visitor {n}", run, f"request {n}") for n, run in enumerate(runs)]
    assert requests[0].computes.wait(PATIENCE)
    assert desk.turns.length == 4 and not any(request.computes.is_set() for request in requests[1:])
    finish(*requests)
    assert desk.log == [f"request {n} {word}" for n in range(4) for word in ("computes", "answers")]
    assert desk.turns.length == 0


def test_a_newer_request_stops_the_one_that_computes(desk):
    older, newer = Run(), Run()
    first = desk.ask("me", older, "first")
    assert first.computes.wait(PATIENCE)
    second = desk.ask("me", newer, "second")
    finish(first, second)
    assert desk.log == ["first computes", "first gives up", "second computes", "second answers"]


def test_a_newer_request_takes_the_one_that_waits_out_of_the_queue_and_leaves_others_in_theirs(desk):
    runs = [Run() for _ in range(4)]
    busy = desk.ask("other", runs[0], "busy")
    assert busy.computes.wait(PATIENCE)
    waiting = desk.ask("me", runs[1], "waiting")
    third = desk.ask("third", runs[2], "third")
    newer = Request(desk.turns, desk.log, "me", runs[3], "newer")
    newer.start()
    # It gives up while the device is still busy.
    waiting.join(PATIENCE)
    assert waiting.superseded and not waiting.computes.is_set() and not busy.go.is_set()
    finish(busy, third, newer)
    assert desk.log == [
        "busy computes",
        "waiting gives up",
        "busy answers",
        "third computes",
        "third answers",
        "newer computes",
        "newer answers",
    ]


class Work(threading.Thread):
    """Long work of three pieces, each of which computes until it is released, with a pause after each."""

    def __init__(self, desk, name):
        super().__init__(daemon=True)
        self.desk, self.called, self.go, self.superseded = desk, name, threading.Semaphore(0), False
        self.run_of = Run()
        before = desk.turns.length
        self.start()
        while desk.turns.length == before:
            time.sleep(0.001)

    def run(self):
        try:
            with self.desk.turns.turn(self.called, self.run_of) as turn:
                for piece in range(1, 4):
                    self.desk.log.append(f"{self.called} {piece}")
                    assert self.go.acquire(timeout=PATIENCE)
                    turn.pause()
        except Superseded:
            self.superseded = True

    def release(self, pieces=1):
        self.go.release(pieces)


def until(condition):
    """Waits for other threads."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_question_waits_for_one_piece_of_long_work_and_for_one_more_per_question_before_it(desk):
    work = Work(desk, "work")
    questions = [desk.ask(f"visitor {n}", Run(), f"question {n}") for n in range(2)]
    for question in questions:
        question.go.set()
    work.release()
    until(lambda: "work 2" in desk.log)
    work.release(2)
    for thread in (work, *questions):
        thread.join(PATIENCE)
    asked = [[f"question {n} computes", f"question {n} answers"] for n in range(2)]
    assert desk.log == ["work 1", *asked[0], "work 2", *asked[1], "work 3"]
    assert desk.turns.length == 0


def test_long_work_of_several_users_takes_turns_and_a_question_comes_before_what_has_paused(desk):
    first, second = Work(desk, "first"), Work(desk, "second")
    first.release()
    until(lambda: "second 1" in desk.log)
    question = desk.ask("third", Run(), "question")
    question.go.set()
    for work in (second, first, second, first, second):
        work.release()
    for thread in (first, second, question):
        thread.join(PATIENCE)
    assert desk.log == [
        "first 1",
        "second 1",
        "question computes",
        "question answers",
        "first 2",
        "second 2",
        "first 3",
        "second 3",
    ]


def test_paused_work_that_was_superseded_leaves_the_queue(desk):
    work = Work(desk, "me")
    busy = desk.ask("other", Run(), "busy")
    work.release()
    assert busy.computes.wait(PATIENCE)
    newer = Request(desk.turns, desk.log, "me", Run(), "newer")
    newer.start()
    work.join(PATIENCE)
    assert work.superseded and not newer.computes.is_set()
    finish(busy, newer)
    assert (
        desk.log == ["me 1", "busy computes", "busy answers", "newer computes", "newer answers"]
        and desk.turns.length == 0
    )


def test_a_run_that_was_superseded_is_refused_when_it_asks_again():
    turns, older, newer = Turns(), Run(), Run()
    for run in (older, older, newer, newer):
        with turns.turn("me", run) as check:
            check()
    with pytest.raises(Superseded, match="a newer request has cancelled"), turns.turn("me", older):
        pytest.fail("an old run may not compute")
    with turns.turn("me", newer), suppress(Superseded):
        pass
    # Another user's runs do not matter.
    with turns.turn("you", Run()):
        assert turns.length == 1
    assert turns.length == 0


def test_a_run_that_came_first_and_asks_last_supersedes_nobody():
    turns, older, newer = Turns(), Run(), Run()
    register(older)  # It loads a model.
    with turns.turn("me", newer) as check:
        with pytest.raises(Superseded), turns.turn("me", older):
            pytest.fail("the newer run is the one that is wanted")
        check()
    with turns.turn("me", newer):
        assert turns.length == 1


def test_an_error_gives_the_device_free():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.turn("me", Run()):
        raise ZeroDivisionError
    with turns.turn("you", Run()):
        assert turns.length == 1


@pytest.mark.parametrize("stop_at", [1, 2, 5, 9])
def test_a_superseded_model_stops_between_layers_and_answers_the_next_as_before(stop_at, architecture, encoder_of):
    live, calls, layers = load_live(encoder_of(architecture), "logit_lens", None), [], []
    wanted = live.ask("It is [MASK].").layers

    def check():
        calls.append(1)
        if len(calls) == stop_at:
            raise Superseded("newer")

    norms = [module for module in live.encoder.body.modules() if type(module).__name__.endswith("LayerNorm")]
    handles = [norm.register_forward_hook(lambda *_: layers.append(1)) for norm in norms]
    try:
        with pytest.raises(Superseded):
            live.ask("It is [MASK].", check=check)
        # Norms that ran are those before the check that stopped it.
        assert len(calls) == stop_at and len(layers) <= stop_at - 1
        layers.clear()
        live.ask("It is [MASK].")
        assert len(layers) >= live.encoder.depth, "there must be something to stop"
    finally:
        for handle in handles:
            handle.remove()
    calls.clear()
    assert live.ask("It is [MASK].").layers == wanted
    assert calls == [], "no check of a request that is over is left behind"
