"""The command that reproduces a result, its settings and its files."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import join
from typing import Any

from bboxqa.model.settings import AgreeSettings, ValidateSettings
from bboxqa.report.encodings import in_json
from bboxqa.report.pages.html_document import Data

# Names of sources that are Python values, not files.
_IN_MEMORY = ("document", "dataset", "table")
_OPTIONS_OF_VALIDATE = ("select", "ignore", "per_file_ignores", "fail_on", "min_severity")
# The most files that a command names.
_MOST_FILES = 20
_OPTIONS = {
    "iou_threshold": "--iou", "category_map": "--map", "filter": "--pattern",
    "from_format": "--from",
}  # fmt: skip


def command(
    manifest: Mapping[str, Any],
    reference: str | None = None,
    target: Sequence[str] = ("--report", "report.html"),
) -> str:
    """Return the shell command that makes the result of a manifest again, with its page.

    It is empty for Python values. Settings that are the default are left out. `reference` is an
    annotator if it is not a file of the manifest; `target` are the options of what is written.

    Examples
    --------
    >>> command(
    ...     {
    ...         "settings": {"seed": 1, "matcher": "auto"},
    ...         "inputs": [{"name": "my file.json", "role": "annotations", "annotator": None}],
    ...     },
    ...     reference="eve",
    ... )
    "bboxqa agree 'my file.json' --reference eve --seed 1 --report report.html"
    """
    inputs = manifest["inputs"]
    settings, defaults = manifest["settings"].items(), in_json(AgreeSettings())
    changed = {name: value for name, value in settings if value != defaults.get(name)}
    if inputs and inputs[0]["name"] in _IN_MEMORY:
        return ""
    words = [word for source in inputs for word in _given(source)]
    if all(source["role"] != "predictions" for source in inputs):
        # The lowest score that counts in lists of results.
        scores = {source.get("score") for source in inputs} - {None}
        words += [word for score in scores for word in ("--score", f"{score:g}")]
    if reference is not None and all(source["role"] != "reference" for source in inputs):
        words += ["--reference", reference]
    given = {**manifest.get("reading", {}), **changed}
    words += [word for name, value in given.items() for word in option_words(name, value)]
    return join(["bboxqa", "agree", *words, *target])


def _given(source: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments that name a file."""
    name, annotator = source["name"], source["annotator"]
    if source["role"] == "reference":
        return ("--reference", name)
    if source["role"] == "predictions":
        return ("--predictions", name, "--score", f"{source['score']:g}")
    return (name,) if annotator is None else ("--annotator", f"{annotator}={name}")


def option_words(name: str, value: Any) -> Iterator[str]:
    """Yield an option with its value, repeated for several values."""
    option = _option(name)
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


def _option(name: str) -> str:
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


def validate_command(
    files: Sequence[str], settings: Mapping[str, Any], given: Mapping[str, Sequence[str]]
) -> str:
    """Return the shell command that validates files again.

    `given` are options with their values.

    Examples
    --------
    >>> validate_command(["a.json"], {"select": ["B", "S"]}, {"images": ["my images"]})
    "bboxqa validate a.json --images 'my images' --select B,S"
    """
    words = ["bboxqa", "validate", *files[:_MOST_FILES], *["…"] * (len(files) > _MOST_FILES)]
    options, defaults = {**given}, in_json(ValidateSettings())
    for name in _OPTIONS_OF_VALIDATE:
        value = settings.get(name, defaults[name])
        if isinstance(value, dict):
            changed = [f"{glob}:{','.join(codes)}" for glob, codes in value.items()]
        else:
            changed = [value if isinstance(value, str) else ",".join(value)]
        options[name] = changed if value != defaults[name] else []
    words += [
        word for name, each in options.items() for text in each for word in (_option(name), text)
    ]
    return join([*words, *["--show-consequences"] * bool(settings.get("show_consequences"))])


def settings_table(manifest: Mapping[str, Any]) -> Data:
    """Return settings and versions as a table of text."""
    pairs = {
        **manifest["settings"],
        **manifest["reading"],
        **manifest["versions"],
        "platform": manifest["platform"],
    }
    rows = [[name, "" if value is None else str(value)] for name, value in pairs.items()]
    return Data("Settings and versions", ["name", "value"], rows)


def inputs_table(inputs: Sequence[Mapping[str, Any]]) -> Data:
    """Return the files as a table, without empty columns."""
    columns = [
        key for key in (inputs[0] if inputs else ())
        if any(each[key] not in (None, "annotations") for each in inputs)
    ]  # fmt: skip
    return Data("Files", columns, [[each[key] for key in columns] for each in inputs])
