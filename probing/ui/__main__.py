"""``python -m probing.ui``: the app. What the pages import is loaded while the server and the browser start."""

import pkgutil
import sys
from importlib import import_module
from threading import Thread

from probing import ui
from probing.core.registry import REPOSITORY


def load() -> None:
    """Imports the modules of all pages; Streamlit imports a page's when somebody opens it, which holds up the first page."""
    for module in pkgutil.walk_packages(ui.__path__, f"{ui.__name__}."):
        if not module.name.endswith(".__main__"):
            import_module(module.name)


def main() -> None:
    """Runs the app; the options are those of ``streamlit run``."""
    from streamlit.web import cli

    Thread(target=load, daemon=True).start()
    sys.exit(cli.main(["run", str(REPOSITORY / "app.py"), *sys.argv[1:]], prog_name="streamlit"))


if __name__ == "__main__":
    main()
