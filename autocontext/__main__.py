"""`python -m autocontext`: the same as the command `autocontext`."""

from autocontext.cli import main

if __name__ == "__main__":
    main()
