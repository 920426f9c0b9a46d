"""One file per method, each behind the same small interface (`base.py`), named in `registry.py`."""
