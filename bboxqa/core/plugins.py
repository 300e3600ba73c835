"""Looking up matchers, rules, formats and other parts by name, also those of other packages."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import one_line, unknown_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_Part = TypeVar("_Part")


def lookup(kind: str, parts: Mapping[str, _Part], name: str) -> _Part:
    """Return the part of this name, or raise ConfigError; `kind` is the setting that names it."""
    if name not in parts:
        raise ConfigError(unknown_name(name, tuple(parts)), kind)
    return parts[name]


class Plugin(NamedTuple):
    """A plugin of another package; `load` imports it."""

    entries: "tuple[EntryPoint, ...]"
    """The entry points of this name; more than one if several packages use it."""

    @property
    def package(self) -> str:
        """Return the name of the package, or of the first of several packages."""
        return _package(self.entries[0])

    def refuse_built_in(self) -> NoReturn:
        """Raise ConfigError: the name is taken by a part of bboxqa itself."""
        entry = self.entries[0]
        raise ConfigError(
            f"{entry.group} {entry.name!r} is built in, and package {self.package} offers "
            "another of this name; update or uninstall the package"
        )

    def load(self, expected: type[_Part]) -> _Part:
        """Return the object that the entry point names."""
        entry = self.entries[0]
        if len(self.entries) > 1:
            packages = " and ".join(_package(each) for each in self.entries)
            raise ConfigError(
                f"{entry.group} {entry.name!r} is offered by {packages}; uninstall all but one"
            )
        try:
            found = entry.load()
        except Exception as error:
            reason = one_line(f"{type(error).__name__}: {error}")
            raise ConfigError(
                f"package {self.package}: entry point {entry.name} = {entry.value} of "
                f"{entry.group} cannot be loaded: {reason}; update or uninstall the package"
            ) from error
        if not isinstance(found, expected):
            raise ConfigError(
                f"{expected.__name__.lower()} {entry.name!r} of another package has type "
                f"{type(found).__name__}; expected a {expected.__module__}.{expected.__name__}"
            )
        return found


def plugins(group: str) -> Mapping[str, Plugin]:
    """Return the plugins of a group such as "bboxqa.similarities" by name, sorted."""
    for folder in sys.path:
        try:
            changed = Path(folder or ".").stat().st_mtime_ns
            if group.encode() in _entry_points(folder or ".", changed):
                break
        except NotADirectoryError:
            # An archive may have any.
            break
        except OSError:
            continue
    else:
        return {}
    from importlib.metadata import entry_points

    by_name: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, _package(entry))):
        by_name.setdefault(entry.name, []).append(entry)
    return {name: Plugin(tuple(entries)) for name, entries in by_name.items()}


@lru_cache(maxsize=64)
def _entry_points(folder: str, _changed: int) -> bytes:
    """Return the entry points of all packages of a folder, cached until the folder changes."""
    texts = []
    for name in os.listdir(folder):  # noqa: PTH208 - a Path for each name is slow
        if name.lower().endswith(("dist-info", "egg-info")):
            with suppress(OSError):
                texts.append(Path(folder, name, "entry_points.txt").read_bytes())
    return b"\n".join(texts)


def _package(entry: "EntryPoint") -> str:
    return entry.dist.name if entry.dist is not None else "of unknown name"
