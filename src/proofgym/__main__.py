"""`python -m proofgym` is `proofgym`."""

from proofgym.cli import main

if __name__ == "__main__":
    main()
