"""The command that reproduces a result, its settings, its files, and a sentence to cite it."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import join
from typing import Any

from bboxqa.core.text import count
from bboxqa.report.numbers import number

# Names of sources that are Python values, not files.
_IN_MEMORY = ("document", "dataset", "table")
_OPTIONS_OF_VALIDATE = ("select", "ignore", "per_file_ignores", "fail_on", "min_severity")
# The most files that a command names.
_MOST_FILES = 20
_OPTIONS = {
    "iou_threshold": "--iou", "category_map": "--map", "filter": "--pattern",
    "from_format": "--from",
}  # fmt: skip

_ASSIGNED = "the assignment with the largest total similarity (Kuhn 1955)"
_LINKED = (
    "single linkage: all pairs in the order of falling similarity (Müllner 2011), never two "
    "annotations of one annotator"
)
# How each matcher joins annotations, and the works to cite.
_MATCHED = {
    "auto": (f"{_ASSIGNED} where two annotated an image, and where more did by {_LINKED}",
             "Kuhn Müllner"),
    "hungarian": (_ASSIGNED, "Kuhn"),
    "greedy": (_LINKED, "Müllner"),
    "average": ("average linkage (Sokal and Michener 1958), never two annotations of one annotator",
                "Sokal"),
    "complete": ("complete linkage (Müllner 2011), never two annotations of one annotator",
                 "Müllner"),
    "recursive": (f"{_ASSIGNED}, one annotator after the other (Tschirschwitz et al. 2022)",
                  "Kuhn Tschirschwitz"),
}  # fmt: skip
_CITED = {
    "Efron": "Efron, B. and Tibshirani, R. J. (1993), An Introduction to the Bootstrap.",
    "Krippendorff": "Krippendorff, K. (2022), Content Analysis, 4th edition.",
    "Kuhn": "Kuhn, H. W. (1955), The Hungarian Method for the Assignment Problem, "
    "doi:10.1002/nav.3800020109.",
    "Müllner": "Müllner, D. (2011), Modern Hierarchical, Agglomerative Clustering Algorithms, "
    "arXiv:1109.2378.",
    "Sokal": "Sokal, R. R. and Michener, C. D. (1958), A Statistical Method for Evaluating "
    "Systematic Relationships, University of Kansas Science Bulletin 38.",
    "Tschirschwitz": "Tschirschwitz, D. et al. (2022), A Dataset for Analysing Complex Document "
    "Layouts in the Digital Humanities and Its Evaluation with Krippendorff's Alpha, "
    "doi:10.1007/978-3-031-16788-1_22.",
}


def command(
    manifest: Mapping[str, Any],
    defaults: Mapping[str, Any],
    reference: str | None = None,
    target: Sequence[str] = ("--report", "report.html"),
) -> str:
    """Return the shell command that makes the result of a manifest again, with its page.

    It is empty for Python values. Settings equal to the `defaults` are left out. `reference` is an
    annotator if it is not a file of the manifest; `target` are the options of what is written.

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
    words += [word for name, value in given.items() for word in _words(name, value)]
    return join(["bboxqa", "agree", *words, *target])


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
        **manifest["reading"],
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
    >>> print(
    ...     citation(
    ...         {
    ...             "thresholds": [part], "n_annotators": 3, "n_images": 60, "n_annotations": 264,
    ...             "similarity": "bbox", "matcher": "auto", "missing": "category",
    ...             "bootstrap": 1000, "seed": 0, "version": "0.1.0",
    ...         },
    ...         "IoU",
    ...     )[:179]
    ... )
    3 annotators drew 264 annotations in 60 images. F1 of existence was 0.900 (95 % confidence \
interval 0.850 to 0.940). Two annotations could match from IoU 0.5 (similarity bbox) on.
    """
    part = summary["thresholds"][0]
    existence, alpha, cited = part["existence"], part["alpha"], set()
    if existence["f1"] is None and alpha is None:
        return ""
    figures, how = [], []
    if existence["f1"] is not None:
        f1 = _with_interval(existence["f1"], existence["interval"])
        figures.append(f"F1 of existence was {f1}")
        how.append(f"For F1, each two annotators were matched alone by {_ASSIGNED}.")
        cited.add("Kuhn")
    if alpha is not None:
        figures.append(f"Krippendorff's alpha was {_with_interval(alpha, part['interval'])}")
        only_two = summary["matcher"] == "auto" and summary["n_annotators"] == 2
        matcher = "hungarian" if only_two else summary["matcher"]
        joined_by, sources = _MATCHED.get(matcher, (f"the matcher {matcher}", ""))
        is_category = summary["missing"] == "category"
        how.append(
            "For alpha (nominal; Krippendorff 2022), annotations were joined to units by "
            f"{joined_by}; a missing annotation "
            f"{'counted as a category of its own' if is_category else 'was left out'}."
        )
        cited |= {"Krippendorff", *sources.split()}
    if existence["interval"] or part["interval"]:
        draws = f"{summary['bootstrap']:,} draws (Efron and Tibshirani 1993; seed"
        how.append(f"Intervals are from a bootstrap of the images with {draws} {summary['seed']}).")
        cited.add("Efron")
    people, images, annotations = (
        count(summary[f"n_{noun}s"], noun) for noun in ("annotator", "image", "annotation")
    )
    threshold = f"{measure} {part['iou_threshold']:g} (similarity {summary['similarity']})"
    return " ".join((
        f"{people} drew {annotations} in {images}. {' and '.join(figures)}.",
        f"Two annotations could match from {threshold} on.",
        *how,
        f"The figures were computed with bboxqa {summary['version']}.",
        *(_CITED[name] for name in sorted(cited)),
    ))  # fmt: skip


def _with_interval(value: float, bounds: list[float] | None) -> str:
    if bounds is None:
        return number(value, 3)
    low, high = (number(each, 3) for each in bounds)
    return f"{number(value, 3)} (95 % confidence interval {low} to {high})"
