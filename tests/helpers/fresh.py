"""Run Python in an interpreter that has imported nothing yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def run_fresh(script: str, *arguments: object, timeout: float = 120) -> Any:
    """What the last line of output of `script` says in JSON."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
