"""The running stand-in, and a program that is online with it and with nothing else."""

import socket
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests import tiny_models
from tests.hub import contents
from tests.hub.server import Hub


@pytest.fixture(scope="session")
def bert(tmp_path_factory) -> dict[str, bytes]:
    """The files of a tiny BERT."""
    return contents.of_folder(tiny_models.save("bert", tmp_path_factory.mktemp("hub") / "tiny-bert"))


@pytest.fixture(autouse=True)
def nothing_but_the_loopback(monkeypatch) -> None:
    """A test that reaches for another machine fails."""
    connect = socket.socket.connect

    def checked(self, address):
        assert not isinstance(address, tuple) or address[0] in ("127.0.0.1", "::1", "localhost"), (
            f"a connection to {address}"
        )
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", checked)


@pytest.fixture()
def hub() -> Iterator[Hub]:
    """An empty stand-in."""
    made = Hub()
    yield made
    made.close()


@pytest.fixture()
def online(hub, tmp_path, monkeypatch) -> SimpleNamespace:
    """This process is online with the stand-in: ``hub``, and the folder ``home`` for the hub's cache.

    ``login(user)`` stores a token; ``offline()`` sets ``HF_HUB_OFFLINE``; ``waits`` are the waits before further tries,
    which take no time.
    """
    import time

    from huggingface_hub import constants
    from huggingface_hub.utils import close_session

    home = tmp_path / "hf"
    home.mkdir()
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    places = {
        "HF_HOME": "",
        "HF_HUB_CACHE": "hub",
        "HUGGINGFACE_HUB_CACHE": "hub",
        "HF_ASSETS_CACHE": "assets",
        "HF_XET_CACHE": "xet",
        "HF_TOKEN_PATH": "token",
        "HF_STORED_TOKENS_PATH": "stored_tokens",
        "AGENT_HARNESSES_PATH": ".agents",
    }
    for name, place in places.items():
        monkeypatch.setattr(constants, name, str(home / place))
    for name, value in {
        "ENDPOINT": hub.address,
        "HUGGINGFACE_CO_URL_TEMPLATE": hub.address + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_XET": True,
    }.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "none"))
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    close_session()
    yield SimpleNamespace(
        hub=hub,
        home=home,
        waits=waits,
        login=lambda user: (home / "token").write_text(f"token-of-{user}"),
        offline=lambda: monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True),
    )
    close_session()
