"""Make the Auto classes of transformers know ProtoFit, without importing transformers for it.

`import protofit` must cost nothing, and `AutoModelForSequenceClassification` must work after it
(docs/decisions/0003-auto-classes.md). Where transformers' auto modules are loaded already, the
classes are registered at once; else right after those modules load.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

CONFIG_MODULE = "transformers.models.auto.configuration_auto"
MODEL_MODULE = "transformers.models.auto.modeling_auto"


def install() -> None:
    """Register now or when the time comes; a second call does nothing."""
    waiting = {name for name in (CONFIG_MODULE, MODEL_MODULE) if name not in sys.modules}
    for name in {CONFIG_MODULE, MODEL_MODULE} - waiting:
        register(name)
    if waiting and not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher(waiting))


def register(module: str) -> None:
    """Tell one auto module about our class."""
    from protofit.model.configuration import MODEL_TYPE, ProtoFitConfig

    if module == CONFIG_MODULE:
        from transformers import AutoConfig

        AutoConfig.register(MODEL_TYPE, ProtoFitConfig, exist_ok=True)
    else:
        from transformers import AutoModelForSequenceClassification

        from protofit.model.modeling import ProtoFitForSequenceClassification

        AutoModelForSequenceClassification.register(
            ProtoFitConfig, ProtoFitForSequenceClassification, exist_ok=True
        )


class _Watcher(importlib.abc.MetaPathFinder):
    """Finds the two modules as everybody does, and registers after they have run."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader, self)
        return spec

    def seen(self, name: str) -> None:
        """The module has been loaded; once both have, nobody needs to watch."""
        self.names.discard(name)
        if not self.names and self in sys.meta_path:
            sys.meta_path.remove(self)


class _Registering(importlib.abc.Loader):
    """A loader that registers after loading."""

    def __init__(self, loader: importlib.abc.Loader, watcher: _Watcher) -> None:
        self.loader = loader
        self.watcher = watcher

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.watcher.seen(module.__name__)
        register(module.__name__)
