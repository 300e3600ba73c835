"""Parts that other packages add through entry points."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def plugins(group: str) -> dict[str, Callable[[], Any]]:
    """Return what installed packages add to a group of entry points, as name → loader.

    Nothing is imported until a loader is called.

    Parameters
    ----------
    group : str
        Such as "bboxqa.similarities".

    Returns
    -------
    dict of str to callable
        Sorted by name. A loader takes no arguments, and returns what the entry point names. It
        raises `ConfigError` if that cannot be imported, or if several packages use the name.
    """
    from importlib.metadata import entry_points

    by_name: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, _package(entry))):
        by_name.setdefault(entry.name, []).append(entry)
    return {name: _loader(entries) for name, entries in by_name.items()}


def _loader(entries: "list[EntryPoint]") -> Callable[[], Any]:
    def load() -> Any:
        entry = entries[0]
        if len(entries) > 1:
            packages = " and ".join(_package(entry) for entry in entries)
            raise ConfigError(
                f"{entry.group} {entry.name!r} is offered by {packages}; uninstall all but one"
            )
        try:
            return entry.load()
        except Exception as error:
            reason = one_line(f"{type(error).__name__}: {error}")
            raise ConfigError(
                f"package {_package(entry)}: entry point {entry.name} = {entry.value} of "
                f"{entry.group} cannot be loaded: {reason}; update or uninstall the package"
            ) from error

    return load


def _package(entry: "EntryPoint") -> str:
    return entry.dist.name if entry.dist is not None else "of unknown name"
