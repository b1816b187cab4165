"""``python -m probing``: the command line."""

from probing.main import main

if __name__ == "__main__":
    main()
