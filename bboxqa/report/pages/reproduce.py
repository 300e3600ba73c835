"""The command that makes a result again."""

from collections.abc import Iterator, Mapping
from shlex import join
from typing import Any

_OPTIONS = {"iou_threshold": "--iou", "category_map": "--map", "filter": "--pattern"}


def command(manifest: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return the command that makes the result of a manifest again, as a shell reads it.

    Parameters
    ----------
    manifest : mapping of str to object
        The document "manifest" of a result of `agree`.
    defaults : mapping of str to object
        The settings of a command without options: those that are equal are left out.

    Examples
    --------
    >>> command(
    ...     {"settings": {"seed": 1, "matcher": "auto"}, "inputs": [{"name": "my file.json"}]},
    ...     {"seed": 0, "matcher": "auto"},
    ... )
    "bboxqa agree 'my file.json' --seed 1"
    """
    names = [source["name"] for source in manifest["inputs"]]
    changed = {
        name: value for name, value in manifest["settings"].items() if value != defaults.get(name)
    }
    words = [word for name, value in changed.items() for word in _words(name, value)]
    return join(["bboxqa", "agree", *names, *words])


def _words(name: str, value: Any) -> Iterator[str]:
    """Yield an option and its value, as often as it has several."""
    option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        yield option if value else f"--no-{name}"
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (option, f"{key}={each}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from (option, f"{each:g}")
    else:
        yield from (option, str(value))
