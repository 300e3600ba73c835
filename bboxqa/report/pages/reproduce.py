"""The command that reproduces a result, its settings, its files, and a sentence to cite it."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import join
from typing import Any

from bboxqa.core.text import count
from bboxqa.report.numbers import number

IN_MEMORY = ("document", "dataset", "table")
"""Names of sources that are Python values, not files."""

_OPTIONS_OF_VALIDATE = ("select", "ignore", "per_file_ignores", "fail_on", "min_severity")
# The most files that a command names.
_MOST_FILES = 20
_OPTIONS = {
    "iou_threshold": "--iou", "category_map": "--map", "filter": "--pattern",
    "from_format": "--from",
}  # fmt: skip


def command(
    manifest: Mapping[str, Any], defaults: Mapping[str, Any], reference: str | None = None
) -> str:
    """Return the shell command that reproduces the page of a manifest's result.

    Settings equal to the `defaults` are left out. `reference` is an annotator if it is not a file
    of the manifest.

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
    settings = manifest["settings"].items()
    changed = {name: value for name, value in settings if value != defaults.get(name)}
    if inputs and inputs[0]["name"] in IN_MEMORY:
        return _call(inputs, manifest.get("reading", {}), changed, reference)
    words = [word for source in inputs for word in _given(source)]
    if all(source["role"] != "predictions" for source in inputs):
        # The lowest score that counts in lists of results.
        scores = {source.get("score") for source in inputs} - {None}
        words += [word for score in scores for word in ("--score", f"{score:g}")]
    if reference is not None and all(source["role"] != "reference" for source in inputs):
        words += ["--reference", reference]
    given = {**manifest.get("reading", {}), **changed}
    words += [word for name, value in given.items() for word in _words(name, value)]
    return join(["bboxqa", "agree", *words, "--report", "report.html"])


def _given(source: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments that name a file."""
    name, annotator = source["name"], source["annotator"]
    if source["role"] == "reference":
        return ("--reference", name)
    if source["role"] == "predictions":
        return ("--predictions", name, "--score", f"{source['score']:g}")
    return (name,) if annotator is None else ("--annotator", f"{annotator}={name}")


def _words(name: str, value: Any) -> Iterator[str]:
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


def _call(
    inputs: Sequence[Mapping[str, Any]],
    reading: Mapping[str, str],
    changed: Mapping[str, Any],
    reference: str | None,
) -> str:
    """Return the Python call that reproduces the result of a value."""
    first, *others = inputs
    read = first["name"]
    for source in others:
        if source["role"] == "predictions":
            read += f", predictions={source['name']!r}, score={source['score']:g}"
    named = [] if reference is None else [f"reference={reference!r}"]
    named += [
        f"{name}={value[0] if isinstance(value, list) and len(value) == 1 else value!r}"
        for name, value in changed.items()
    ]
    call = f"bboxqa.agree({', '.join([f'bboxqa.read_coco({read})', *named])})"
    said = [f"{name}={_value(name, text)!r}" for name, text in reading.items()]
    return f"with bboxqa.reading({', '.join(said)}): {call}" if said else call


def _value(name: str, text: str) -> object:
    """Return what was said about files as in Python."""
    if name == "columns":
        return dict(pair.split("=", 1) for pair in text.split(","))
    sides = text.split("x")
    if name == "image_size" and all(map(str.isdecimal, sides)):
        return tuple(map(int, sides))
    return int(text) if name == "voc_base" else text


def validate_command(
    files: Sequence[str],
    settings: Mapping[str, Any],
    defaults: Mapping[str, Any],
    given: Mapping[str, Sequence[str]],
) -> str:
    """Return the shell command that validates files again.

    `given` are options with their values.

    Examples
    --------
    >>> validate_command(
    ...     ["a.json"], {"select": ["B", "S"]}, {"select": []}, {"images": ["my images"]}
    ... )
    "bboxqa validate a.json --images 'my images' --select B,S"
    """
    words = ["bboxqa", "validate", *files[:_MOST_FILES], *["…"] * (len(files) > _MOST_FILES)]
    options = {**given}
    for name in _OPTIONS_OF_VALIDATE:
        value = settings.get(name, ())
        if isinstance(value, dict):
            changed = [f"{glob}:{','.join(codes)}" for glob, codes in value.items()]
        else:
            changed = [value if isinstance(value, str) else ",".join(value)]
        options[name] = changed if value != defaults.get(name, ()) else []
    words += [
        word for name, each in options.items() for text in each for word in (_option(name), text)
    ]
    return join([*words, *["--show-consequences"] * bool(settings.get("show_consequences"))])


def settings_table(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings and versions as a table of text."""
    pairs = {
        **manifest["settings"],
        # Saved results of earlier versions do not have it.
        **manifest.get("reading", {}),
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


def citation(summary: Mapping[str, Any], measure: str) -> str:
    """Return what a paper has to say about the figures at the first threshold; empty without any.

    `summary` is the document of this name, `measure` the name of the similarity, such as "IoU".

    Examples
    --------
    >>> existence = {"f1": 0.9, "interval": [0.85, 0.94]}
    >>> part = {"alpha": None, "interval": None, "existence": existence, "iou_threshold": 0.5}
    >>> citation(
    ...     {
    ...         "thresholds": [part], "n_annotators": 3, "n_images": 60, "n_annotations": 264,
    ...         "similarity": "bbox", "matcher": "auto", "missing": "category", "bootstrap": 1000,
    ...         "version": "0.1.0",
    ...     },
    ...     "IoU",
    ... )
    'For 3 annotators of 60 images (264 annotations), F1 of pairs of annotators is 0.900 (95 % \
confidence interval 0.850 to 0.940). Annotations match from IoU 0.5 on (similarity bbox, matcher \
auto); intervals are from 1,000 bootstrap samples of images (bboxqa 0.1.0).'
    """
    part = summary["thresholds"][0]
    figures = {
        "Krippendorff's alpha": (part["alpha"], part["interval"]),
        "F1 of pairs of annotators": (part["existence"]["f1"], part["existence"]["interval"]),
    }
    known = {name: figure for name, figure in figures.items() if figure[0] is not None}
    if not known:
        return ""
    said = " and ".join(f"{name} is {_with_interval(*figure)}" for name, figure in known.items())
    missing = drawn = ""
    if part["alpha"] is not None:
        is_category = summary["missing"] == "category"
        missing = f"; missing annotations are {'a category' if is_category else 'ignored'}"
    if any(bounds is not None for _, bounds in known.values()):
        drawn = f"; intervals are from {summary['bootstrap']:,} bootstrap samples of images"
    return (
        f"For {count(summary['n_annotators'], 'annotator')} of "
        f"{count(summary['n_images'], 'image')} ({count(summary['n_annotations'], 'annotation')}), "
        f"{said}. Annotations match from {measure} {part['iou_threshold']:g} on (similarity "
        f"{summary['similarity']}, matcher {summary['matcher']}){missing}{drawn} "
        f"(bboxqa {summary['version']})."
    )


def _with_interval(value: float, bounds: list[float] | None) -> str:
    if bounds is None:
        return number(value, 3)
    low, high = (number(each, 3) for each in bounds)
    return f"{number(value, 3)} (95 % confidence interval {low} to {high})"
