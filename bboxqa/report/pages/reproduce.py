"""The command that reproduces a result."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import join
from typing import Any

IN_MEMORY = ("document", "dataset", "table")
"""Names of sources that are Python values, not files."""

_OPTIONS_OF_VALIDATE = ("select", "ignore", "per_file_ignores", "fail_on", "min_severity")
# The most files that a command names.
_MOST_FILES = 20
_OPTIONS = {"iou_threshold": "--iou", "category_map": "--map", "filter": "--pattern"}


def command(
    manifest: Mapping[str, Any], defaults: Mapping[str, Any], reference: str | None = None
) -> str:
    """Return the shell command that reproduces the page of a manifest's result.

    Parameters
    ----------
    manifest : mapping of str to object
        The document "manifest" of a result of `agree`.
    defaults : mapping of str to object
        Default settings; equal settings are left out.
    reference : str, optional
        The reference; an annotator if it is not a file of the manifest.

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
    "bboxqa agree 'my file.json' --reference eve --seed 1 --report report.html"
    """
    inputs = manifest["inputs"]
    if inputs and inputs[0]["name"] in IN_MEMORY:
        return _call(manifest, defaults, reference)
    names = [word for source in inputs for word in _given(source)]
    names += _lowest_score(inputs)
    if reference is not None and all(source["role"] != "reference" for source in inputs):
        names += ["--reference", reference]
    changed = {**_reading(manifest), **_changed(manifest, defaults)}
    words = [word for name, value in changed.items() for word in _words(name, value)]
    return join(["bboxqa", "agree", *names, *words, "--report", "report.html"])


def validate_command(
    files: Sequence[str],
    settings: Mapping[str, Any],
    defaults: Mapping[str, Any],
    **given: Sequence[str],
) -> str:
    """Return the shell command that validates files again.

    `given` are options with their values.

    Examples
    --------
    >>> validate_command(
    ...     ["a.json"], {"select": ["B", "S"]}, {"select": []}, images=["my images"]
    ... )
    "bboxqa validate a.json --images 'my images' --select B,S"
    """
    words = ["bboxqa", "validate", *files[:_MOST_FILES]]
    words += ["…"] if len(files) > _MOST_FILES else []
    words += [
        word for name, values in given.items() for each in values for word in (_option(name), each)
    ]
    for name in _OPTIONS_OF_VALIDATE:
        value = settings.get(name, ())
        if value == defaults.get(name, ()):
            continue
        if isinstance(value, dict):
            values = [f"{glob}:{','.join(codes)}" for glob, codes in value.items()]
        else:
            values = [value if isinstance(value, str) else ",".join(value)]
        words += [word for each in values for word in (_option(name), each)]
    if settings.get("show_consequences"):
        words.append("--show-consequences")
    return join(words)


def settings_table(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings and versions as a table of text."""
    pairs = {
        **manifest["settings"],
        **_reading(manifest),
        **manifest["versions"],
        "platform": manifest["platform"],
    }
    rows = [[name, "" if value is None else str(value)] for name, value in pairs.items()]
    return {"columns": ["name", "value"], "rows": rows}


def inputs_table(inputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the files as a table, without empty columns."""
    columns = [
        key for key in (inputs[0] if inputs else ())
        if any(each[key] not in (None, "annotations") for each in inputs)
    ]  # fmt: skip
    return {"columns": columns, "rows": [[each[key] for key in columns] for each in inputs]}


def _given(source: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments that name a file."""
    name, annotator = source["name"], source["annotator"]
    if source["role"] == "reference":
        return ("--reference", name)
    if source["role"] == "predictions":
        return ("--predictions", name, "--score", f"{source['score']:g}")
    return (name,) if annotator is None else ("--annotator", f"{annotator}={name}")


def _lowest_score(inputs: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Return the option of the lowest score that counts in lists of results."""
    if any(source["role"] == "predictions" for source in inputs):
        return ()
    scores = {source.get("score") for source in inputs} - {None}
    return [word for score in scores for word in ("--score", f"{score:g}")]


def _changed(manifest: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that differ from the defaults."""
    settings = manifest["settings"].items()
    return {name: value for name, value in settings if value != defaults.get(name)}


def _reading(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of reading, which saved results of earlier versions do not have."""
    found: Mapping[str, Any] = manifest.get("reading", {})
    return found


def _call(manifest: Mapping[str, Any], defaults: Mapping[str, Any], reference: str | None) -> str:
    """Return the Python call that reproduces the result of a value."""
    first, *others = manifest["inputs"]
    read = first["name"]
    for source in others:
        if source["role"] == "predictions":
            read += f", predictions={source['name']!r}, score={source['score']:g}"
    named = [] if reference is None else [f"reference={reference!r}"]
    named += [
        f"{name}={value[0] if isinstance(value, list) and len(value) == 1 else value!r}"
        for name, value in _changed(manifest, defaults).items()
    ]
    call = f"bboxqa.agree({', '.join([f'bboxqa.read_coco({read})', *named])})"
    said = [f"{name}={_value(name, text)!r}" for name, text in _reading(manifest).items()]
    return f"with bboxqa.reading({', '.join(said)}): {call}" if said else call


def _value(name: str, text: str) -> object:
    """Return what was said about files as in Python."""
    if name == "columns":
        return dict(pair.split("=", 1) for pair in text.split(","))
    sides = text.split("x")
    if name == "image_size" and all(map(str.isdecimal, sides)):
        return tuple(map(int, sides))
    return int(text) if name == "voc_base" else text


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _words(name: str, value: Any) -> Iterator[str]:
    """Yield an option with its value, repeated for several values."""
    option = _OPTIONS.get(name, _option(name))
    if isinstance(value, bool):
        yield option if value else f"--no-{name}"
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (option, f"{key}={each}")
    elif name == "sigmas" and isinstance(value, list | tuple):
        yield from (option, ",".join(f"{each:g}" for each in value))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from (option, f"{each:g}")
    else:
        yield from (option, str(value))
