"""A result and its diagnosis as plain objects, and its meaning in words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files
from math import isnan, nan
from typing import Any

import msgspec

from bboxqa.core.arrays import remembered
from bboxqa.core.text import count, first_few, joined, names_in_words, one_line
from bboxqa.model.diagnosis import ALL_AGREE, Diagnosis, Line
from bboxqa.model.results import Figure, MeasuredAgreement, ReferenceAgreement, ThresholdResult
from bboxqa.model.table import Table
from bboxqa.report.numbers import (
    estimate_text,
    json_figure,
    json_text,
    json_value,
    measure_of,
    number,
    percent,
    picked,
)

_OF_RESULT = (
    "n_images", "n_annotators", "n_annotations", "n_crowd", "n_empty_images", "attribution",
)  # fmt: skip
OF_SETTINGS = ("similarity", "matcher", "missing", "empty_images", "bootstrap", "seed")
"""The settings that a summary repeats."""
_RATES = ("f1", "miss_rate", "extra_rate", "class_share")
_OF_REPEATS = ("n_images", "n_annotations", "f1", "alpha", "class_alpha", "class_share", "mean_iou")
_OF_REFERENCE = ("precision", "recall", "f1", "class_share", "mean_similarity")
_ABOUT_REFERENCE = ("n_images", "n_reference_images", "n_empty_images", "n_annotations")
_COUNTS_OF_REFERENCE = ("n_images", "n", "n_reference", "n_matched")

_OF_WORK = ("n", "n_sessions", "hours", "median_seconds", "per_minute", "drift", "fatigue")
_OF_PAIR = {"gain_interval": "gain", "share_interval": "share"}
_OF_KIND = {
    "interval": "share", "interval_any": "share_any", "alpha_gain_interval": "alpha_gain",
    "f1_gain_interval": "f1_gain",
}  # fmt: skip

Record = dict[str, Any]
Values = Mapping[str, Any]


def summary(result: MeasuredAgreement) -> Record:
    """Return a result as `summary_schema` describes it; None where a number is undefined."""
    settings, thresholds = msgspec.to_builtins(result.settings), []
    for part in result.thresholds:
        found = {**figures_at(part), "categories": part.categories.records()}
        found["pairs"] = part.pairs.records()
        if part.repeats is not None:
            found["repeats"] = _named(part.repeats, "annotator", *_OF_REPEATS)
        if part.reference is not None:
            found["reference"] = reference_figures(part.reference)
        thresholds.append(found)
    return {
        **{name: getattr(result, name) for name in _OF_RESULT},
        **{name: settings[name] for name in OF_SETTINGS},
        "version": result.version,
        "notes": list(result.notes),
        "thresholds": thresholds,
    }


def reference_figures(reference: ReferenceAgreement) -> Record:
    """Return the figures of annotators against a reference."""
    rotated = ("measure", "unit", "systematic")
    people = [
        {"name": row["annotator"]}
        | _record(row, *_COUNTS_OF_REFERENCE, *_OF_REFERENCE)
        | _offsets(reference.offsets, row["annotator"], rotated)
        for row in reference.annotators.records()
    ]
    return {**picked(reference, "name", *_ABOUT_REFERENCE), "annotators": people}


def figures_at(part: ThresholdResult) -> Record:
    """Return the figures at a threshold, without those of categories and annotators."""
    meaningful, existence, place = part.meaningful_image_alpha, part.existence, part.place
    known = not isnan(part.mean_image_alpha)
    unknown = part.status if part.alpha_has_no_meaning else "undefined: no image"
    name, share = part.largest_category
    mean, below = json_value(meaningful.mean), json_value(place.below_threshold)
    drawn = picked(existence, "f1", "interval", "chance", "alpha", "alpha_interval")
    named = ("alpha", "share", "interval", "share_interval", "status")
    placed = picked(place, "mean_iou", "median_iou", "interval", "n_pairs")
    ends = json_value(place.below_interval)
    return {
        **picked(part, "iou_threshold", "alpha"),
        "alpha_reason": part.alpha_reason or None,
        **picked(part, "status", "interval"),
        "largest_category": {"name": name or None, "share": json_value(share)},
        "observed_disagreement": json_value(part.observed),
        "expected_disagreement": json_value(part.expected),
        **picked(part, "mean_image_alpha"),
        "mean_image_status": "ok" if known else unknown,
        **picked(part, "mean_image_interval", "mean_drawn_image_alpha"),
        "meaningful_image_alpha": {"value": mean, **picked(meaningful, "interval", "n_images")},
        **picked(part, "share_of_images_at_1"),
        "existence": {**drawn, "reason": existence.reason or None},
        "class": picked(part.class_agreement, *named),
        "place": {**placed, "below_threshold": {"value": below, "interval": ends}},
        **picked(part, "greedy_alpha", "all_asked_alpha", "all_asked_f1"),
        **picked(part, "n_units", "n_complete_units"),
    }


def _record(row: Record, *names: str) -> Record:
    """Return some columns of a row, those with an interval as figures."""
    return {name: json_figure(row, name) if f"{name}_low" in row else row[name] for name in names}


def _named(table: Table, name: str, *names: str) -> list[Record]:
    """Return a record for all annotators together, whose name is None, and for each."""
    return [
        {name: row["annotator"] if place else None} | _record(row, *names)
        for place, row in enumerate(table.records())
    ]


def _offsets(table: Table | None, annotator: str, of_rotated: Sequence[str]) -> Record:
    """Return the offsets of an annotator: of edges, or of rotated boxes."""
    every = [] if table is None else table.records()
    rows = [row for row in every if row["annotator"] == annotator]
    if table is None or "measure" not in table.columns:
        return {"offset_px": [json_figure(row, "offset_px") for row in rows]}
    rotated = [_record(row, *of_rotated) | json_figure(row, "offset") for row in rows]
    return {"offset_px": [], **({"rotated_offsets": rotated} if rotated else {})}


@remembered
def diagnosis_summary(diagnosis: Diagnosis) -> Record:
    """Return a diagnosis as `diagnosis_schema` describes it; None where a number is undefined."""
    tables = diagnosis.tables
    offsets = tables.get("rotated_offsets", tables.get("offsets"))
    of_rotated = ("measure", "unit", "spread", "systematic")
    worked = _named(tables["work"], "name", *_OF_WORK) if "work" in tables else []
    for record, row in zip(worked, tables["work"].records() if worked else (), strict=True):
        for name in ("drift", "fatigue"):
            record[name] |= {"status": row[f"{name}_status"]}
    return {
        "threshold": diagnosis.threshold_label,
        "story": list(diagnosis.story),
        "subjects": [
            {"annotators": list(line.annotators), "see": line.see} for line in diagnosis.lines
        ],
        "warnings": list(diagnosis.warnings),
        "advice": diagnosis.advice,
        "annotators": [
            {"name": row["annotator"]}
            | _record(row, "n", *_RATES)
            | _offsets(offsets, row["annotator"], of_rotated)
            for row in tables["annotators"].records()
        ],
        "confusions": [
            _flat(row, _OF_PAIR, "alpha_merged") for row in tables["confusions"].records()
        ],
        "decomposition": [_flat(row, _OF_KIND) for row in tables["decomposition"].records()],
        **({"work": worked} if "work" in tables else {}),
        "tables": table_records(tables, tables.keys()),
    }


def table_records(tables: Mapping[str, Table], names: Collection[str]) -> Record:
    """Return the columns and rows of the tables of some names."""
    return {
        name: {"columns": [*table.columns], "rows": [*map(list, table.rows())]}
        for name, table in tables.items()
        if name in names
    }


def _flat(row: Record, intervals: Mapping[str, str], *without: str) -> Record:
    """Return a row with intervals, by name, in place of the ends of those of some columns."""
    kept = {name: row[name] for name in row if not name.endswith(("_low", "_high", *without))}
    return kept | {name: json_figure(row, of)["interval"] for name, of in intervals.items()}


def json_lines(result: MeasuredAgreement, *, diagnosis: Diagnosis | None = None) -> Iterator[str]:
    """Yield a result, and its diagnosis, as indented JSON, the form of `summary.json`."""
    found = summary(result)
    if diagnosis is not None:
        found["diagnosis"] = diagnosis_summary(diagnosis)
    yield from json_text(found).rstrip("\n").split("\n")


def summary_schema() -> Record:
    """Return the JSON schema (2020-12) of `summary`."""
    return schema("summary")


def diagnosis_schema() -> Record:
    """Return the JSON schema (2020-12) of `diagnosis_summary`."""
    return schema("diagnosis")


def schema(name: str) -> Record:
    """Return one of the JSON schemas beside this module."""
    text = files("bboxqa.report").joinpath(f"{name}.schema.json").read_bytes()
    return dict(msgspec.json.decode(text))


# Krippendorff (2018), Content Analysis, 4th edition, chapter 12: from 0.8 on data are reliable, and
# between 0.667 and 0.8 they allow tentative conclusions only.
_RELIABLE, _TENTATIVE = 0.8, 0.667
LEVELS = {"existence": (0.9, 0.75), "class": (_RELIABLE, _TENTATIVE), "place": (0.8, 0.65)}
"""From which figure on agreement is good, and from which on it is moderate.

Two annotators who each miss one object of ten, at random, have an existence (F1) of 0.9; with one
of four, of 0.75. The levels of class are Krippendorff's. Two boxes of one size overlap by 0.8 if
one is moved by 11 % of its width, and by 0.65 if it is moved by 21 %.

Where the whole is good, a category with 50 annotations or more is named if its existence, or its
share named alike, is below the good level by more than the upper half of the interval of its F1;
without an interval, if it is below the moderate level.
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
MISSING = {"category": "counts as a category", "ignore": "is ignored"}
"""What is said of missing annotations, by the setting."""
_EMPTY = {
    "agree": "each counts 1 in the mean over images",
    "unit": "each is one object on which all agree",
    "skip": "left out",
}
_AUTO = "Hungarian matching where two annotate an image, greedy matching where more do"
# Similarities that are not overlaps.
_NO_IOU = ("keypoints", "centroid", "giou")


def shown_figures(part: Values, measure: str, n_annotators: int) -> Iterator[Figure]:
    """Yield the figures of a threshold that text and pages show, each with a remark as reason."""
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


def _figure(name: str, record: Values, key: str, ends: str, remark: str) -> Figure:
    value, interval = record[key], record[ends]
    return Figure(name, nan if value is None else value, interval or (nan, nan), remark)


def gates(settings: Values) -> dict[str, float]:
    """Return the lowest accepted values of alpha and F1, as far as settings have them."""
    asked = {"alpha": settings["min_alpha"], "F1": settings["min_f1"]}
    return {name: float(least) for name, least in asked.items() if least is not None}


def missed_gates(part: Values | None, settings: Values, *, many: bool = False) -> Iterator[str]:
    """Yield the gates of settings that the figures of a threshold, one of `many`, do not reach."""
    for name, least in gates(settings).items():
        if part is None:
            yield f"{name} was not measured, and {least:g} was asked for"
            continue
        complete = 0 < part["n_units"] == part["n_complete_units"]
        all_agree = part["alpha"] is None and complete and not part["observed_disagreement"]
        value, reason = part["existence"]["f1"], "nobody drew anything"
        if name == "alpha":
            value, reason = part["alpha"], part["alpha_reason"]
        where = f" at threshold {part['iou_threshold']:g}" if many else ""
        if value is None and not (name == "alpha" and all_agree):
            yield f"there is no {name}{where} to compare with {least:g}: {reason}"
        elif value is not None and value < least:
            yield f"{name}{where} is {_below(least, value)}, and {least:g} was asked for"


def passes(result: MeasuredAgreement) -> bool:
    """Return whether alpha and F1 reach the lowest values of the settings at each threshold."""
    settings = msgspec.to_builtins(result.settings)
    return not any(any(missed_gates(figures_at(part), settings)) for part in result.thresholds)


def headline(parts: Sequence[Values], settings: Values) -> tuple[str, ...]:
    """Return "passed", "failed" or "open", the verdict, and further gates that are not reached."""
    missed = [each for part in parts for each in missed_gates(part, settings, many=len(parts) > 1)]
    if missed:
        return "failed", f"Not accepted: {missed[0]}", *missed[1:]
    if found := gates(settings):
        said = (f"{name} is at least {least:g}" for name, least in found.items())
        accepted = f"Accepted: {' and '.join(said)}"
        if is_by_chance(parts[0]):
            chance = _level(parts[0], settings["similarity"])
            return "passed", accepted, f"But {chance[:1].lower()}{chance[1:]}"
        return "passed", accepted
    where = f"Threshold {parts[0]['iou_threshold']:g}: " if parts[1:] else ""
    return "open", f"{where}{_level(parts[0], settings['similarity'])}"


def is_by_chance(part: Values) -> bool:
    """Return whether existence cannot be told from that of annotations of different images."""
    above, bounds = part["existence"]["alpha"], part["existence"]["alpha_interval"]
    return above is not None and (bounds[0] if bounds else above) <= 0


def weakest(part: Values, similarity: str) -> tuple[str, dict[str, float]]:
    """Return which of existence, class and place decides the verdict, and those that are known."""
    existence, named = part["existence"], part["class"]
    # With one category, all give the same.
    share = None if named["share"] == 1 else named["share"]
    every = {
        "existence": existence["f1"],
        "class": share if named["alpha"] is None else named["alpha"],
        "place": None if similarity in _NO_IOU else part["place"]["mean_iou"],
    }
    figures = {name: value for name, value in every.items() if value is not None}
    # 0 for good, 1 for moderate and 2 for poor.
    levels = {name: sum(value < bound for bound in LEVELS[name]) for name, value in figures.items()}
    lowest = max(levels.values(), default=0)
    # Which figure is farthest below the next level.
    below = {
        name: value / LEVELS[name][lowest - 1]
        for name, value in figures.items()
        if lowest and levels[name] == lowest
    }
    return min(below, key=below.__getitem__, default=""), figures


def _level(part: Values, similarity: str) -> str:
    """Return the level of agreement in words, for results without gates."""
    if is_by_chance(part):
        f1, chance = (number(part["existence"][name]) for name in ("f1", "chance"))
        return (
            f"Agreement cannot be told from chance: existence (F1) is {f1}, and {chance} with the "
            "annotations of other images"
        )
    least, figures = weakest(part, similarity)
    if not figures:
        people = part["reference"]["annotators"] if "reference" in part else ()
        found = [(each["f1"]["value"], each["name"]) for each in people]
        known = [each for each in found if each[0] is not None]
        if not known:
            return "There is nothing to compare"
        return f"F1 of {min(known)[1]} with the reference is {number(min(known)[0])}"
    if not least:
        if weak := [*_weak_categories(part)]:
            return f"Agreement is good, but not of {first_few(weak, _MOST_CATEGORIES)}"
        bounds = joined([f"{name} {number(LEVELS[name][0])}" for name in figures])
        reasons = joined([_BECAUSE[name][0] for name in figures])
        return f"Agreement is good, because annotators {reasons} (good from {bounds})"
    level = sum(figures[least] < bound for bound in LEVELS[least])
    bound = LEVELS[least][level - 1]
    better = f"{_LEVEL_NAMES[level - 1]} from {number(bound)}"
    what = f"{_LEVEL_NAMES[level]}, because annotators {_BECAUSE[least][level]}"
    return f"Agreement is {what} ({least} {_below(bound, figures[least])}, {better})"


def _weak_categories(part: Values) -> Iterator[str]:
    """Yield the categories that are not good for sure, each with its figure, the lowest first."""
    found = []
    for row in part["categories"]:
        known = (nan if row.get(key) is None else float(row[key]) for key in _OF_CATEGORY)
        f1, high, found_share, alike = known
        figures = (("existence", "existence", found_share), ("named alike", "class", alike))
        for shown, level, value in figures:
            good, moderate = LEVELS[level]
            # Equal values in all images have no interval.
            is_below = value < moderate if isnan(high) else value + high - f1 < good
            if row["n_annotations"] >= _LEAST_DRAWN and is_below:
                name = names_in_words([row["category"]])[0]
                text = f"{name} ({shown} {number(value)}, good from {number(good)})"
                found.append((value / good, text))
                break
    yield from (text for _, text in sorted(found))


def _below(limit: float, value: float) -> str:
    """Return a number with two digits, or more if it is below the limit and would round to it."""
    texts = [number(value, n) for n in (2, 3, 4) if number(value, n) != number(float(limit), n)]
    return next(iter(texts), f"nearly {number(float(limit))}") if value < limit else number(value)


def facts(summary: Values) -> Iterator[str]:
    """Yield what was compared and how, at the first threshold, from a summary."""
    part = summary["thresholds"][0]
    matcher, n_units = summary["matcher"], part["n_units"]
    matching = _AUTO if matcher == "auto" else f"{matcher} matching"
    threshold = f"{measure_of(summary['similarity'])} {part['iou_threshold']:g}"
    yield (
        f"Similarity {summary['similarity']} from {threshold} on, objects by {matching}; a missing "
        f"annotation {MISSING[summary['missing']]}"
    )
    share = f" ({percent(part['n_complete_units'] / n_units, 0)})" if n_units else ""
    yield f"{count(n_units, 'object')}, drawn by everyone: {part['n_complete_units']:,}{share}"
    mean = part["mean_image_alpha"]
    if mean is not None:
        shown = estimate_text(mean, part["mean_image_interval"])
        at_1 = percent(part["share_of_images_at_1"], 0)
        yield f"Mean of the alphas of images: {shown}; exactly 1 in {at_1} of the images"
    if part["existence"]["interval"] or part["interval"]:
        drawn = f"{summary['bootstrap']:,} draws of images"
        yield f"95 % intervals: where figures could lie with other images of this kind ({drawn})"
    if summary["n_crowd"]:
        yield f"{count(summary['n_crowd'], 'crowd annotation')} left out"
    if summary["n_empty_images"]:
        images = count(summary["n_empty_images"], "image")
        yield f"{images} left empty by all annotators: {_EMPTY[summary['empty_images']]}"


def story_lines(diagnosis: Values) -> list[Line]:
    """Return the lines of a diagnosis document."""
    return [
        Line(text, tuple(each["annotators"]), each["see"])
        for text, each in zip(diagnosis["story"], diagnosis["subjects"], strict=True)
    ]


def next_step(part: Values, diagnosis: Values | None) -> str:
    """Return advice on what would raise agreement most; empty if unknown."""
    if is_by_chance(part):
        return _BY_CHANCE
    if diagnosis is None or "advice" not in diagnosis or not part["n_units"]:
        return ""
    if [row["kind"] for row in diagnosis["decomposition"] if row["n_any"]] == [ALL_AGREE]:
        return _NOTHING
    advice = diagnosis["advice"]
    told = f"{advice[:1].upper()}{advice[1:]}, and have the objects below corrected."
    return told if advice else _LITTLE
