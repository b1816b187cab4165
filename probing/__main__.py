"""``python -m probing``: the command line."""

from probing.commands.main import main

if __name__ == "__main__":
    main()
