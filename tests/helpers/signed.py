"""Edit a manifest and sign it again, as a program that knows the format would."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def edit_signed(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Apply `change` to the manifest `file` and give it the checksum of its new content."""
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    content.pop("checksum", None)
    text = json.dumps(content, sort_keys=True)
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(json.dumps(content), encoding="utf-8")
