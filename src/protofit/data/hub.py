"""Dataset ids such as 'owner/name:test', loaded with the optional package datasets."""

from __future__ import annotations

import functools
import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from protofit.data.readers import FORMAT_OF_SUFFIX, Parsed
from protofit.errors import InputError

_PART = r"\w[\w.-]*"
_ID = re.compile(rf"({_PART}(?:/{_PART}){{0,2}})(?::(\w+))?", re.ASCII)
_NAMES_WITH_CONFIGS = frozenset({"adv_glue", "glue", "super_glue", "tweet_eval", "xnli"})
_OTHER_FILE = re.compile(
    r"\.(arrow|bz2|db|feather|gz|npy|npz|ods|orc|pickle|pkl|sqlite|tar|xlsx?|xml|xz|zip|zst)"
)


class DatasetId(NamedTuple):
    """What identifies one split of a dataset."""

    name: str
    config: str | None
    split: str


def parse_id(source: str) -> DatasetId | None:
    """The dataset id that `source` spells, or None where it can only be a local file."""
    match = _ID.fullmatch(source)
    if match is None:
        return None
    path, split = match[1], match[2] or "train"
    if _names_a_file(PurePosixPath(path).suffix.lower()):
        return None
    head, _, tail = path.rpartition("/")
    if "/" in head or head in _NAMES_WITH_CONFIGS:
        return DatasetId(head, tail, split)
    return DatasetId(path, None, split)


def read_dataset(wanted: DatasetId, source: str) -> Parsed:
    """One split of a dataset; class columns keep their raw integers, not the class names."""
    try:
        datasets = import_module("datasets")
    except ImportError as error:
        raise InputError(
            f"no such local file, and a dataset id needs the package datasets ({error}).",
            where=source,
            fix="Run: pip install datasets, or give a local file.",
        ) from None
    try:
        with _quiet_retries(), _offline_unless_reachable(datasets):
            loaded = datasets.load_dataset(wanted.name, wanted.config, split=wanted.split)
        columns: dict[str, list[object]] = loaded.to_dict()
    except Exception as error:  # noqa: BLE001 - whatever the loader raises, one sentence
        raise InputError(
            f"no such local file, and loading it as a dataset failed ({_reason(error)}).",
            where=source,
            fix="Give a local file; only dataset ids need network access.",
        ) from None
    count = len(next(iter(columns.values()), []))
    if not count:
        raise InputError("the dataset has no rows.", where=source, fix="Choose another split.")
    return Parsed(columns, list(range(1, count + 1)), "row")


@contextmanager
def _quiet_retries() -> Iterator[None]:
    """Without a network every attempt would be reported; the last reason is enough."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _offline_unless_reachable(datasets: Any) -> Iterator[None]:
    """Without a network only the cache is asked: every attempt would be repeated with a pause."""
    if hub_reachable() or not hasattr(datasets, "config"):
        yield
        return
    switches: tuple[Any, ...] = (datasets.config, import_module("huggingface_hub.constants"))
    before = [switch.HF_HUB_OFFLINE for switch in switches]
    try:
        for switch in switches:
            switch.HF_HUB_OFFLINE = True
        yield
    finally:
        for switch, value in zip(switches, before, strict=True):
            switch.HF_HUB_OFFLINE = value


@functools.cache
def hub_reachable() -> bool:
    """Whether the Hub's name resolves: without a network, loading would retry for a minute."""
    endpoint = import_module("huggingface_hub.constants").ENDPOINT
    if any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ):
        return True  # the proxy resolves names
    try:
        socket.getaddrinfo(urlsplit(endpoint).hostname, 443)
    except OSError:
        return False
    return True


def _names_a_file(suffix: str) -> bool:
    """Whether the suffix is that of a file, or a slip of the keys away from a data file's."""
    slip = len(suffix) > 3 and get_close_matches(suffix, FORMAT_OF_SUFFIX, n=1, cutoff=0.7)
    return suffix in FORMAT_OF_SUFFIX or bool(slip or _OTHER_FILE.fullmatch(suffix))


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
