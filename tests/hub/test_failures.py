"""What goes wrong at the hub, and what the user reads: one sentence per case that says what to do."""

import os
import subprocess
import sys

import pytest

from probing.kernel.errors import HubError, ProbingError, RegistryError
from probing.kernel.fetch import download

COMMANDS = {
    "ask": ("ask", "Paris is in [MASK].", "--model", "org/one", "--device", "cpu"),
    "fetch": ("fetch", "org/one"),
    "pull": ("pull", "org/one", "--what", "heads"),
}


def said(run, words) -> str:
    """The message of the error of a command, which is one that a user can fix: one line, without the registry's
    names.
    """
    with pytest.raises(ProbingError) as found:
        run(*words)
    message = str(found.value)
    assert "\n" not in message and "org/one" in message and "nesia-mini-qa" not in message and len(message) < 400
    return message


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("user", [None, "reader"])
def test_of_a_gated_model_the_page_that_gives_access_is_named(online, run, bert, command, user):
    online.hub.add("org/one", bert | {"manifest.json": b"{}"}, gated=True)
    if user:
        online.login(user)
    message = said(run, COMMANDS[command])
    assert f"{online.hub.address}/org/one" in message and "gated" in message and "hf auth login" in message


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("private", [True, False], ids=["private", "missing"])
def test_a_missing_and_a_private_model_are_not_told_apart_but_login_is_named(online, run, bert, command, private):
    if private:
        online.hub.add("org/one", bert, private=True)
    message = said(run, COMMANDS[command])
    assert "no public model org/one" in message and "hf auth login" in message


@pytest.mark.parametrize("command", COMMANDS)
def test_a_busy_hub_is_asked_again_after_the_wait_that_it_names(online, run, bert, command):
    online.hub.add("org/one", bert)
    online.hub.fails("^GET /api/models/org/one", status=429, headers={"Retry-After": "7"}, times=2)
    if command == "pull":
        with pytest.raises(HubError, match=r"has no manifest\.json"):
            run(*COMMANDS[command])
    else:
        run(*COMMANDS[command])
    assert online.waits == [7, 7]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hub_that_stays_busy_is_said_to_limit_requests_and_for_how_long(online, run, bert, command):
    online.hub.add("org/one", bert)
    online.hub.fails("^GET /api/models/org/one", status=429, headers={"Retry-After": "300"})
    message = said(run, COMMANDS[command])
    assert "limits the number of requests" in message and "300 s" in message and online.waits == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hub_in_trouble_is_tried_a_few_times_and_then_named_with_its_status(online, run, bert, command):
    online.hub.add("org/one", bert)
    online.hub.fails(".", status=503)
    assert "not available (HTTP 503)" in said(run, COMMANDS[command])
    assert online.waits == [1, 2, 4]


@pytest.mark.parametrize("command", ["ask", "fetch"])
def test_without_the_hub_and_without_a_cached_copy_the_variable_is_named(online, run, command):
    online.offline()
    message = said(run, COMMANDS[command])
    assert "not in the hub's cache" in message and "HF_HUB_OFFLINE" in message
    assert online.hub.log == []


def test_a_proxy_that_no_library_can_use_is_named_for_data_sets_too(monkeypatch, tmp_path):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(RegistryError, match=r"(?i)cannot download http://127\.0\.0\.1:9/file .*proxy"):
        download("http://127.0.0.1:9/file", tmp_path / "file")


def test_no_request_is_logged_on_the_way_to_an_answer(hub, bert, tmp_path):
    """In a process of its own, because the logging of a test's process is pytest's."""
    hub.add("org/one", bert)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PROBING_"))}
    places = {"HF_HOME": tmp_path / "hf", "PROBING_CACHE": tmp_path / "cache", "PROBING_SNAPSHOT": tmp_path / "none"}
    own |= {"HF_ENDPOINT": hub.address, "HF_HUB_DISABLE_XET": "1", **{name: str(at) for name, at in places.items()}}
    words = [sys.executable, "-m", "probing", "fetch", "org/one"]
    done = subprocess.run(words, capture_output=True, text=True, env=own, check=False)
    assert done.returncode == 0, done.stderr
    assert hub.kept["model", "org/one"].refs["main"] in done.stdout and hub.asked("^GET /large/")
    assert "HTTP" not in done.stderr and "404" not in done.stderr
