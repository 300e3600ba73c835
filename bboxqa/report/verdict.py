"""The meaning of a result in words, for those who decide about annotations."""

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any

from bboxqa.core.text import count, first_few, joined, names_in_words, one_line
from bboxqa.model.diagnosis import ALL_AGREE, Line
from bboxqa.model.results import Figure
from bboxqa.report.numbers import number, percent

# Krippendorff (2018), Content Analysis, 4th edition, chapter 12: from 0.8 on data are reliable, and
# between 0.667 and 0.8 they allow tentative conclusions only.
_RELIABLE, _TENTATIVE = 0.8, 0.667
LEVELS = {"existence": (0.9, 0.75), "class": (_RELIABLE, _TENTATIVE), "place": (0.8, 0.65)}
"""From which figure on agreement is good, and from which on it is moderate.

Two annotators who each miss one object of ten, at random, have an existence (F1) of 0.9; with one
of four, of 0.75. The levels of class are Krippendorff's. Two boxes of one size overlap by 0.8 if
one is moved by 11 % of its width, and by 0.65 if it is moved by 21 %.

Where the whole is good, a category with 50 annotations or more is named if its existence, or its
share named alike, is below the good level by more than the upper half of the interval of its F1.
"""
_LEAST_DRAWN, _MOST_CATEGORIES = 50, 2
_OF_CATEGORY = ("f1", "f1_high", "found", "class_share")
_LEVEL_NAMES = ("good", "moderate", "poor")
_BECAUSE = {
    "existence": (
        "draw the same objects", "sometimes draw different objects", "often draw different objects",
    ),
    "class": (
        "name them alike", "sometimes name an object differently",
        "often name an object differently",
    ),
    "place": (
        "place them alike", "place an object a little differently", "place an object differently",
    ),
}  # fmt: skip
CHANCE = 0.05
"""F1 by chance above which existence is corrected for it."""
# The share of one category from which on alpha is lower for that alone.
_PREVALENT = 0.75
_ONE_CATEGORY = "not measured with one category"
_PLACES = {"IoU": "overlap (IoU)", "OKS": "similarity of key points (OKS)"}
_LITTLE = (
    "Little is left to gain, less than 0.01 for each kind of disagreement: have the objects below "
    "checked, if each one counts."
)
_BY_CHANCE = "Look whether all annotators saw the same images, and had the same task."
_NOTHING = "Nothing has to be settled: the annotators agree on all objects of these images."
# Figures have two digits after the point, and more only where they would round to a limit.
_MOST_DIGITS = 4
# Similarities that are not overlaps.
_NO_IOU = ("keypoints", "centroid", "giou")

Record = Mapping[str, Any]


def shown_figures(part: Record, measure: str, n_annotators: int) -> Iterator[Figure]:
    """Yield the figures of a threshold that text and pages show, each with a remark as reason.

    `part` is a record of `figures_at`, and `measure` what values of the similarity are called.
    """
    existence, named, place = part["existence"], part["class"], part["place"]
    largest = part["largest_category"]
    yield _figure("Existence", existence, "f1", "interval", "same objects (F1)")
    if (existence["chance"] or 0) > CHANCE and existence["alpha"] is not None:
        chance = f"F1 with annotations of other images: {number(existence['chance'])}"
        yield _figure("  above chance", existence, "alpha", "alpha_interval", chance)
    alike = f"named alike: {percent(named['share'], 0)}"
    if named["alpha"] is not None:
        yield _figure("Class", named, "alpha", "interval", alike)
    elif named["share"] is not None and named["share"] < 1:
        yield _figure("Class", named, "share", "share_interval", alike)
    elif place["mean_iou"] is not None:
        yield Figure("Class", reason=_ONE_CATEGORY)
    if place["mean_iou"] is not None:
        yield _figure(
            "Place", place, "mean_iou", "interval", _PLACES.get(measure, f"similarity ({measure})")
        )
    why = "1 perfect, 0 chance" if part["alpha"] is not None else _ONE_CATEGORY
    if part["status"] != "ok" and (largest["share"] or 0) < 1:
        why = part["status"]
    elif part["alpha"] is not None and part["alpha"] < 1 and (largest["share"] or 0) >= _PREVALENT:
        share, name = percent(largest["share"], 0), one_line(largest["name"])
        why = f"lower as {share} of annotations are {name}"
    yield _figure(f"Alpha of {count(n_annotators, 'annotator')}", part, "alpha", "interval", why)


def _figure(name: str, record: Record, key: str, ends: str, remark: str) -> Figure:
    value, interval = record[key], record[ends]
    return Figure(name, nan if value is None else value, interval or (nan, nan), remark)


def headline(parts: Sequence[Record], settings: Record) -> tuple[str, ...]:
    """Return "passed", "failed" or "open", the verdict, and further gates that are not reached.

    `parts` are the figures of each threshold, as in a summary. The gates of the settings are the
    verdict; without them, chance and then the least of existence, class and place decide.
    """
    failures = [
        text
        for each in parts
        for text in _failures(
            each, settings, f" at threshold {each['iou_threshold']:g}" if parts[1:] else ""
        )
    ]
    if failures:
        return "failed", f"Not accepted: {failures[0]}", *failures[1:]
    asked = {"alpha": settings["min_alpha"], "F1": settings["min_f1"]}
    gates = [f"{name} is at least {least:g}" for name, least in asked.items() if least is not None]
    if gates:
        return "passed", f"Accepted: {' and '.join(gates)}"
    where = f"Threshold {parts[0]['iou_threshold']:g}: " if parts[1:] else ""
    return "open", f"{where}{_level(parts[0], settings['similarity'])}"


def _failures(part: Record, settings: Record, where: str) -> Iterator[str]:
    """Yield the gates that are not reached at a threshold, which `where` names."""
    complete = 0 < part["n_units"] == part["n_complete_units"]
    all_agree = part["alpha"] is None and complete and not part["observed_disagreement"]
    for name, value, least, reason in (
        ("alpha", part["alpha"], settings["min_alpha"], part["alpha_reason"]),
        ("F1", part["existence"]["f1"], settings["min_f1"], part["existence"]["reason"]),
    ):
        if least is None or (name == "alpha" and all_agree):
            continue
        if value is None:
            yield f"there is no {name}{where} to compare with {least:g}: {reason}"
        elif value < least:
            found = _below(least, value)
            yield f"{name}{where} is {found}, and {least:g} was asked for"


def is_by_chance(part: Record) -> bool:
    """Return whether existence cannot be told from that of annotations of different images."""
    above, bounds = part["existence"]["alpha"], part["existence"]["alpha_interval"]
    return above is not None and (bounds[0] if bounds else above) <= 0


def _level(part: Record, similarity: str) -> str:
    """Return the level of agreement in words, for results without gates."""
    existence, named = part["existence"], part["class"]
    if is_by_chance(part):
        return (
            "Agreement cannot be told from chance: existence (F1) is "
            f"{number(existence['f1'])}, and {number(existence['chance'])} with the annotations of "
            "other images"
        )
    # With one category, all give the same.
    share = None if named["share"] == 1 else named["share"]
    figures = {
        "existence": existence["f1"],
        "class": share if named["alpha"] is None else named["alpha"],
        "place": None if similarity in _NO_IOU else part["place"]["mean_iou"],
    }
    levels = {
        name: sum(value < bound for bound in LEVELS[name])
        for name, value in figures.items()
        if value is not None
    }
    weak = [] if any(levels.values()) else [*_weak_categories(part)]
    if levels and weak:
        return f"Agreement is good, but not of {first_few(weak, _MOST_CATEGORIES)}"
    if levels:
        return _told_level(figures, levels)
    people = part["reference"]["annotators"] if "reference" in part else ()
    known = [(row["f1"]["value"], row["name"]) for row in people if row["f1"]["value"] is not None]
    if not known:
        return "There is nothing to compare"
    return f"F1 of {min(known)[1]} with the reference is {number(min(known)[0])}"


def _weak_categories(part: Record) -> Iterator[str]:
    """Yield the categories that are not good for sure, each with its figure, the lowest first."""
    found = []
    for row in part["categories"]:
        # Saved results of earlier versions have no intervals.
        known = {key: nan if row.get(key) is None else float(row[key]) for key in _OF_CATEGORY}
        f1, high, found_share, alike = known.values()
        figures = (("existence", "existence", found_share), ("named alike", "class", alike))
        for shown, level, value in figures:
            good = LEVELS[level][0]
            if row["n_annotations"] >= _LEAST_DRAWN and value + high - f1 < good:
                name = names_in_words([row["category"]])[0]
                text = f"{name} ({shown} {number(value)}, good from {number(good)})"
                found.append((value / good, text))
                break
    yield from (text for _, text in sorted(found))


def _told_level(figures: Record, levels: Mapping[str, int]) -> str:
    """Return the lowest level, and which figure is farthest below the next one."""
    lowest = max(levels.values())
    if not lowest:
        bounds = joined([f"{name} from {number(LEVELS[name][0])}" for name in levels])
        reasons = joined([_BECAUSE[name][0] for name in levels])
        return f"Agreement is good, because annotators {reasons} ({bounds})"
    bound_of = {name: LEVELS[name][lowest - 1] for name in levels if levels[name] == lowest}
    least = min(bound_of, key=lambda name: figures[name] / bound_of[name])
    shown = _below(bound_of[least], figures[least])
    better = f"{_LEVEL_NAMES[lowest - 1]} from {number(bound_of[least])}"
    what = f"{_LEVEL_NAMES[lowest]}, because annotators {_BECAUSE[least][lowest]}"
    return f"Agreement is {what} ({least} {shown}, {better})"


def _below(limit: float, value: float) -> str:
    """Return a number with two digits, or more if it is below the limit and would round to it.

    Examples
    --------
    >>> _below(1, 0.9969), _below(1, 1.0), _below(1, 1 - 1e-9), _below(0.8, 0.7999)
    ('0.997', '1.00', 'nearly 1.00', '0.7999')
    """
    for digits in range(2, _MOST_DIGITS + 1):
        text = number(value, digits)
        if value >= limit or text != number(float(limit), digits):
            return text
    return f"nearly {number(float(limit), 2)}"


def story_lines(diagnosis: Record) -> list[Line]:
    """Return the lines of a diagnosis document."""
    return [
        Line(text, tuple(each["annotators"]), each["see"])
        for text, each in zip(diagnosis["story"], diagnosis["subjects"], strict=True)
    ]


def next_step(part: Record, diagnosis: Record | None) -> str:
    """Return advice on what would raise agreement most; empty if unknown."""
    if is_by_chance(part):
        return _BY_CHANCE
    # Saved results of earlier versions have no advice.
    if diagnosis is None or "advice" not in diagnosis:
        return ""
    rows = diagnosis["decomposition"]
    if [row["kind"] for row in rows if row["n_any"]] == [ALL_AGREE]:
        return _NOTHING
    advice = diagnosis["advice"]
    told = f"{advice[:1].upper()}{advice[1:]}, and have the objects below corrected."
    return told if advice else _LITTLE
