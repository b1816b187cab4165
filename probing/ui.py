"""``python -m probing.ui``: the app, with its pages drawn once beforehand, so that the first to open one need not wait.

What the pages import is loaded while the server and the browser start. Then the server visits each page as a browser
would, because Streamlit keeps the numbers of a page only for what a session drew.
"""

import logging
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from probing.kernel.registry import REPOSITORY, where_data_are

#: Seconds in which nobody opened a page, before the server goes on with its own visits; a new server and a browser draw
#: for up to ten.
PAUSE = 15.0
#: Seconds that a page may take before the server gives up its visits, and that the server may take to start.
LONGEST = 300.0
#: The application that is served, by its name for the server.
GUARDED = "probing.kernel.app.guard:app"


def load() -> None:
    """Imports the modules of all pages, as Streamlit only does when somebody opens one, who then has to wait."""
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        if path.stem.startswith("page_") or path.parent.name == "app":
            import_module(".".join(path.relative_to(Path(__file__).parents[1]).with_suffix("").parts))


def addresses() -> list[str]:
    """What is visited: the pages in the order of the sidebar, Ask last, because it loads a model; then their tabs."""
    import probing.choices  # noqa: F401  # declares the tabs
    from probing.kernel.app.selection import ADDRESSES, PAGES, visited

    there = {PAGES[path][0]: name for name, path in ADDRESSES.items() if (REPOSITORY / path).is_file()}
    more = [f"{name}?{query}" for page, name in there.items() for query in visited(page)]
    return [*sorted(there.values(), key=lambda name: name == "Ask"), *more]


def visit(server: str, address: str) -> None:
    """Opens a page as a browser does and waits until it is drawn.

    An ``OSError`` or ``WebSocketException`` means that the server does not answer, refuses, or ends.
    """
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    asked, answer = BackMsg(), ForwardMsg()
    asked.rerun_script.page_name, _, asked.rerun_script.query_string = address.partition("?")
    with connect(
        f"{server}/_stcore/stream", subprotocols=[Subprotocol("streamlit")], max_size=None, open_timeout=LONGEST
    ) as browser:
        browser.send(asked.SerializeToString())
        while answer.WhichOneof("type") != "script_finished":
            answer.ParseFromString(browser.recv(timeout=LONGEST, decode=False))


def prepare() -> None:
    """Loads the pages' modules, and visits every page once the server answers, while nobody else opens one."""
    load()
    server = _started()
    if server is None:
        return
    from probing.kernel.app import frame

    seen = frame.VISITS
    own = seen.opened
    for address in addresses():
        while seen.opened > own and seen.seconds < PAUSE:
            time.sleep(PAUSE / 10)
        own = seen.opened + 1
        try:
            visit(server, address)
        except Exception as error:
            # The visits save time and nothing else: without them a page is drawn when it is opened.
            logging.getLogger(__name__).debug("the server's own visits end: %s", error)
            return


def _started() -> str | None:
    """The server's address, once it runs; None if it does not start or answers by TLS only, for another host."""
    from streamlit import config, runtime

    for _ in range(int(LONGEST * 10)):
        if runtime.exists() and runtime.get_instance().state is not runtime.RuntimeState.INITIAL:
            break
        time.sleep(0.1)
    else:
        return None
    if config.get_option("server.sslCertFile"):
        return None
    # A server of all addresses is visited by the name that it is most likely to allow.
    address = config.get_option("server.address")
    host = address if address and address != "0.0.0.0" else "localhost"
    path = config.get_option("server.baseUrlPath").strip("/")
    return f"ws://{host}:{config.get_option('server.port')}" + (f"/{path}" if path else "")


def main(*options: str) -> None:
    """Runs the app; the options are those of ``streamlit run``. Exits with one line where the pages or Streamlit are
    missing, as with an installed package alone.
    """
    if not (REPOSITORY / "app.py").is_file():
        sys.exit(f"error: {where_data_are('the dashboard')}; it needs the extra 'bertnesia-explorer[app]', too")
    if find_spec("streamlit") is None:
        sys.exit("error: the dashboard needs Streamlit; install it with: pip install 'bertnesia-explorer[app]'")
    from streamlit.web import cli
    from streamlit.web.server import app_discovery

    Thread(target=prepare, daemon=True).start()
    # Streamlit looks into the script that it runs for an application around it. Ours is elsewhere, and the script stays
    # the one whose folder has the configuration.
    found = app_discovery.AppDiscoveryResult(True, "app", GUARDED)
    app_discovery.discover_asgi_app = lambda *_: found  # type: ignore[misc, assignment]  # whatever the script
    sys.exit(cli.main(["run", str(REPOSITORY / "app.py"), *options], prog_name="streamlit"))


if __name__ == "__main__":
    main(*sys.argv[1:])
