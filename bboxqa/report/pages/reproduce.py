"""The command that makes a result again."""

from collections.abc import Iterator, Mapping
from shlex import join
from typing import Any

_OPTIONS = {"iou_threshold": "--iou", "category_map": "--map", "filter": "--pattern"}


def command(
    manifest: Mapping[str, Any], defaults: Mapping[str, Any], reference: str | None = None
) -> str:
    """Return the command that makes the result of a manifest again, as a shell reads it.

    Parameters
    ----------
    manifest : mapping of str to object
        The document "manifest" of a result of `agree`.
    defaults : mapping of str to object
        The settings of a command without options: those that are equal are left out.
    reference : str, optional
        What annotators were compared with; an annotator if it is no file of the manifest.

    Examples
    --------
    >>> command(
    ...     {
    ...         "settings": {"seed": 1, "matcher": "auto"},
    ...         "inputs": [{"name": "my file.json", "role": "annotations", "annotator": None}],
    ...     },
    ...     {"seed": 0, "matcher": "auto"},
    ...     reference="eve",
    ... )
    "bboxqa agree 'my file.json' --reference eve --seed 1"
    """
    inputs = manifest["inputs"]
    names = [word for source in inputs for word in _given(source)]
    if reference is not None and all(source["role"] != "reference" for source in inputs):
        names += ["--reference", reference]
    changed = {
        name: value for name, value in manifest["settings"].items() if value != defaults.get(name)
    }
    words = [word for name, value in changed.items() for word in _words(name, value)]
    return join(["bboxqa", "agree", *names, *words])


def _given(source: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how a file is given to the command."""
    name, annotator = source["name"], source["annotator"]
    if source["role"] == "reference":
        return ("--reference", name)
    if source["role"] == "predictions":
        return ("--predictions", name, "--score", f"{source['score']:g}")
    return (name,) if annotator is None else ("--annotator", f"{annotator}={name}")


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
