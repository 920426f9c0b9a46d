"""`python -m protofit`."""

from protofit.cli.main import main

if __name__ == "__main__":
    main()
