"""``python -m lacunary``: the command line."""

from lacunary.cli import main

if __name__ == "__main__":
    main()
