"""A sentence on a result for a paper."""

from collections.abc import Mapping
from typing import Any

from bboxqa.core.text import count
from bboxqa.report.pages.html_document import number

_DIGITS = 3


def citation(summary: Mapping[str, Any], measure: str) -> str:
    """Return what a paper has to say about the figures at the first threshold; empty without any.

    Parameters
    ----------
    summary : mapping of str to object
        The document of this name.
    measure : str
        What the similarity is called, such as "IoU".

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
    people, images = (
        count(summary["n_annotators"], "annotator"),
        count(summary["n_images"], "image"),
    )
    told = " and ".join(f"{name} is {_with_interval(*figure)}" for name, figure in known.items())
    missing = ""
    if part["alpha"] is not None:
        is_category = summary["missing"] == "category"
        missing = f"; missing annotations {'are a category' if is_category else 'are ignored'}"
    drawn = ""
    if any(bounds is not None for _, bounds in known.values()):
        drawn = f"; intervals are from {summary['bootstrap']:,} bootstrap samples of images"
    return (
        f"For {people} of {images} ({count(summary['n_annotations'], 'annotation')}), {told}. "
        f"Annotations match from {measure} {part['iou_threshold']:g} on (similarity "
        f"{summary['similarity']}, matcher {summary['matcher']}){missing}{drawn} "
        f"(bboxqa {summary['version']})."
    )


def _with_interval(value: float, bounds: list[float] | None) -> str:
    text = number(value, _DIGITS)
    if bounds is None:
        return text
    low, high = (number(each, _DIGITS) for each in bounds)
    return f"{text} (95 % confidence interval {low} to {high})"
