"""Findings about annotators, objects and places: who errs, and which kinds of errors cost."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

import numpy as np

from bboxqa.agreement.object_counts import ratio
from bboxqa.core.arrays import FloatArray, IndexArray, distinct
from bboxqa.core.text import count, first_few, joined, names_in_words
from bboxqa.diagnostics.annotator_pairs import LEAST_IDENTICAL, all_share_boxes, independent
from bboxqa.diagnostics.decomposition import KINDS, Kind
from bboxqa.diagnostics.decomposition import disagreements as kinds_of_objects
from bboxqa.diagnostics.object_cells import holm, medians, object_cells
from bboxqa.diagnostics.offsets import ALARM, LEAST_OTHERS, MEASURES, in_halves
from bboxqa.diagnostics.rates import asked_with_others, error_cells
from bboxqa.diagnostics.strata import CATEGORY, covariates, dependence, explained_extras
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.model.results import ReferenceAgreement
from bboxqa.model.table import Table
from bboxqa.pipelines.diagnosis.findings import (
    AXES,
    DIRECTIONS,
    KIND_WORDS,
    KINDS_OF_ERRORS,
    LEAST_CONFUSED,
    LEAST_IMAGES,
    LEAST_SHARE,
    OF_SOME,
    Bounds,
    Diagnosed,
    Finding,
    above_all,
    above_others,
    beyond_background,
    bounds,
    confuser,
    errors,
    in_percent,
    judged,
    median_of_others,
    of_others,
    shape_word,
    two_digits,
    words_of_some,
)

# The rates of each table with the kind of disagreement that they explain.
_RATES = {
    "miss_rate": ("annotators", Kind.MISSED),
    "extra_rate": ("annotators", Kind.MISSED),
    "class_share": ("annotators", Kind.CLASS_CONFLICT),
    "twice_rate": ("boxes_per_object", Kind.TWICE),
    "split_rate": ("boxes_per_object", Kind.SPLIT),
    "merge_rate": ("boxes_per_object", Kind.SPLIT),
}
_OF_REFERENCE = ("miss_rate", "extra_rate", "twice_rate", "class_share")
# An annotator with a lower F1 with each other one, and more misses, hardly does the same task.
_STRANGE, _STRANGE_MISSES = 0.2, 0.5
# Standard errors that extras must differ by from those that the misses of others explain.
_FAR = 3.0
_two_digits = "{:.2f}".format
# So many tests make it unlikely that what all miss seems to depend on something by chance.
_TESTS_OF_ALL = 50
# From this share of objects on which two others contradict each other, both may err.
_SPLIT = 0.25
# Smaller gains would be shown as 0.00.
_LEAST_SHOWN_GAIN = 0.005
_MOST_PAIRS = 2


def worst_annotator(of: Diagnosed, differences: Mapping[str, Bounds]) -> Iterator[Finding]:
    """Yield who of three or more matches the others least, and who matches nobody."""
    table = of.table("annotators")
    f1, vital = bounds(table, "f1"), bounds(table, "vitality")
    # Annotators who drew nothing have a sentence of their own: `idle_annotators`.
    named = above_others(errors(table, "f1"), table["n_images"], differences["f1"])
    for rank, place in enumerate(named[table["n"][named] > 0].tolist()):
        name, without = table["annotator"][place], None
        pairs, own = of.of_pairs(name, "f1"), f1.value[place]
        others = of_others(pairs, own, _two_digits, "the others with each other")
        if vital.high[place] < 0:
            gain = -float(vital.value[place])
            # Alpha rises with the number of annotators at equal quality.
            other = "; fewer annotators lower it" if not isnan(of.part.alpha) else ""
            without = of.instead(f"without {names_in_words([name])[0]}", gain, other)
        # Boxes that are only badly placed are not missed. Two of one task agree with each other.
        is_far = np.nanmax(of.of_pairs(name, "f1", own=True)) < _STRANGE
        is_far &= own < np.nanmax(pairs) / 2 and table["miss_rate"][place] > _STRANGE_MISSES
        kind, cause = ("stranger", Kind.MISSED) if is_far else ("worst", None)
        if is_far or not rank:
            weight, values = float(of.share[place]), {"others": others}
            yield Finding(kind, (name,), f1.value[place], weight, values, cause, gain=without)


def idle_annotators(of: Diagnosed) -> Iterator[Finding]:
    """Yield who drew nothing where others drew objects."""
    asked, annotations = asked_with_others(of.matched), of.matched.data.annotations
    n_there = np.bincount(annotations.image, minlength=len(asked)) @ asked
    n_drawn = np.bincount(annotations.annotator, minlength=len(of.names))
    for place in np.flatnonzero((n_drawn == 0) & (n_there > 0)).tolist():
        weight = float(n_there[place]) / len(annotations)
        n_images, who = count(int(asked[:, place].sum()), "image"), (of.names[place],)
        others = of.names[1 - place] if len(of.names) == 2 else "the others"
        values = {"images": n_images, "others": others, "unknown": of.unknown}
        yield Finding("idle", who, 0, weight, values, Kind.MISSED, table="annotators")


def erring_annotators(of: Diagnosed, differences: Mapping[str, Bounds]) -> Iterator[Finding]:
    """Yield who of three or more misses, adds, misnames, repeats, splits or merges more objects."""
    annotators = of.table("annotators")
    # Annotators with an image that two others, not models, were asked about.
    assigned = of.matched.data.assigned
    votes = assigned & ~of.matched.is_model
    have_judges = (assigned & (votes.sum(1)[:, None] - votes > 1)).any(0)
    for rate, (name, cause) in _RATES.items():
        found = errors(of.table(name), rate)
        places = above_others(found, annotators["n_images"], differences.get(rate))
        places = places[(found.value[places] >= LEAST_SHARE) & (annotators["n"][places] > 0)]
        if cause == Kind.MISSED:
            places = places[have_judges[places]]
        if rate == "extra_rate" and len(places):
            explained = explained_extras(independent(of.matched))
            far = _FAR * np.sqrt(np.maximum(explained, 1))
            places = places[(annotators["n_extra"] > explained + far)[places]]
        for place in places.tolist():
            others = found.others(place)
            if rate == "class_share":
                others = of_others(1 - of.of_pairs(of.names[place], rate), found.value[place])
            kind, values = rate, {"others": others}
            if rate in ("miss_rate", "class_share"):
                part, more = _of_some(of, rate, place)
                if part == " of none":
                    continue
                kind, values = f"{rate}{part}", values | more
            size, who = found.value[place], (of.names[place],)
            weight = float(size * of.share[place])
            yield Finding(kind, who, size, weight, values, cause, table=name)


def _of_some(
    of: Diagnosed, rate: str, place: int, categories: Sequence[int] = ()
) -> tuple[str, dict[str, str]]:
    """Return on which objects the errors of an annotator depend: the template, and its words.

    The template is " of some", or where they depend on nothing, "", and " of empty" if half of them
    or more are in images of several objects that the annotator left empty. It is " of none" if
    several others contradict the annotator in too few objects. With `categories`, only their
    objects count.
    """
    matched = independent(of.matched)
    cells, (among, number, number_of) = object_cells(matched), error_cells(matched)[rate]
    wrong = number > 0
    if rate == "class_share":
        # One other alone may be the one who names an object wrongly.
        among, wrong = among & (number_of > 1), 2 * number < number_of
    values, own = {**covariates(matched)}, np.flatnonzero(among & (cells.annotator == place))
    if categories:
        own = own[np.isin(values.pop(CATEGORY)[cells.object[own]], categories)]
    failed = wrong[own]
    # Two others who often contradict each other may both be wrong where they agree.
    n_split = np.count_nonzero((number[own] == 1) & (number_of[own] == 2))
    is_unsure = rate == "class_share" and n_split >= max(_SPLIT * len(own), failed.sum() / 2)
    if is_unsure or np.count_nonzero(failed) < LEAST_SHARE * len(own):
        return " of none", {}
    values = {name: value[cells.object[own]] for name, value in values.items()}
    drawn, n_images = matched.data.annotations, len(matched.data.image_names)
    if len(of.names) > 2:
        # The objects that most others drew. Of two, what one adds would raise the other's number.
        expected = error_cells(matched)["miss_rate"][0] & (cells.annotator == place)
        n_there = np.bincount(cells.image[expected], minlength=n_images).astype(np.float64)
        values["number"] = n_there[cells.image[own]]
    by_place = np.flatnonzero(drawn.annotator == place)
    missed_in = cells.image[own[failed]]
    in_empty = missed_in[np.bincount(drawn.image[by_place], minlength=n_images)[missed_in] == 0]
    if drawn.times is not None:
        by_place = by_place[~np.isnan(drawn.times.seconds[by_place])]
        image = drawn.image[by_place].astype(np.int64)
        values["time"] = medians(drawn.times.seconds[by_place], image, n_images)[cells.image[own]]
    found = dependence(values, failed, 2 * len(values) * len(of.names))
    if found is None or found.covariate == "number":
        n_empty = len(distinct(in_empty))
        # An image with one object is empty as soon as that is missed.
        is_whole = rate == "miss_rate" and len(in_empty) >= max(2 * n_empty, len(missed_in) / 2)
        if is_whole and n_empty >= LEAST_IMAGES:
            return " of empty", {"images": count(n_empty, "image")}
    if found is None:
        return "", {}
    more = words_of_some(found, matched.data.category_names)
    if found.covariate in covariates(matched):
        # The others in the same objects.
        covariate = covariates(matched)[found.covariate][cells.object]
        is_category = found.covariate == CATEGORY
        there = covariate == found.threshold if is_category else covariate < found.threshold
        there = among & (there == found.below) & ~np.isnan(covariate)
        n, n_wrong = (
            np.bincount(cells.annotator[rows], minlength=len(of.names))
            for rows in (there, there & wrong)
        )
        rates_of = Bounds(*[ratio(n_wrong.astype(np.float64), n.astype(np.float64))] * 3)
        more["others"] = rates_of.others(place)
    return " of some", more


def two_annotators(of: Diagnosed) -> Iterator[Finding]:
    """Yield what each of two annotators drew and the other did not."""
    table = of.table("annotators")
    found, names = judged(table, bounds(table, "miss_rate")), names_in_words(of.names)
    if not found.low.max() >= LEAST_SHARE:
        return
    first, second = np.argsort(-found.value, kind="stable").tolist()
    values = {"who": names[first], "other": names[second], "back": in_percent(found.value[second])}
    kind, more = _of_some(of, "miss_rate", first)
    part = {" of some": f" ({OF_SOME})", " of empty": " (most in {images} left empty)"}.get(
        kind, ""
    )
    values["part"] = part.format(**more)
    weight, kind = float(found.value.mean()), "missed of empty" if "images" in more else "missed"
    yield Finding(kind, (*names,), found.value[first], weight, values, Kind.MISSED)


def copy_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield pairs of annotators who share boxes."""
    table = of.table("copies")
    found = bounds(table, "identical_share")
    # Too few images for an interval show copies where all boxes are identical.
    is_equal = (found.value == 1) & (table["n_identical"] >= LEAST_IDENTICAL) & np.isnan(found.low)
    copied = np.flatnonzero(table["copied"] | is_equal)
    if len(copied) and all_share_boxes(table.take(copied), [*of.names]):
        least = float(found.value[copied].min())
        share = "all" if least == 1 else f"{in_percent(least)} or more of the"
        share = "nearly all" if share.startswith("100") else share
        is_two, names = len(of.names) == 2, joined(names_in_words(of.names))
        values = {"who": f"both {names}" if is_two else "two annotators", "share": share}
        yield Finding("all copy", (), least, 1.0, values)
        return
    for place in copied.tolist():
        both = tuple(str(table[f"annotator_{number}"][place]) for number in (1, 2))
        size, values = found.value[place], {"who": joined(names_in_words(both))}
        # Other figures depend on them.
        yield Finding("copies", both[:1], size, np.inf, values, table="copies", about=both)


def reference_worst(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield who agrees significantly less with the reference than the others do, if anybody."""
    table = found.annotators
    f1, error = bounds(table, "f1"), judged(table, errors(table, "f1"))
    for place in above_others(error, table["n_images"])[:1].tolist():
        if len(table) > 2 or error.low.max() > error.high.min():
            values = {"reference": found.name, "others": f1.others(place, _two_digits)}
            who = (table["annotator"][place],)
            yield Finding("worst of reference", who, f1.value[place], 1, values)


def reference_confusions(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield the categories most often confused with those of the reference, and by whom."""
    table, matrix = found.confusions, found.confusion_matrix
    share, n_matched = bounds(table, "share"), max(int(matrix["n"].sum()), 1)
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & (share.value >= LEAST_SHARE))
    for place in frequent[:_MOST_PAIRS].tolist():
        both, n = (table["first"][place], table["second"][place]), int(table["n"][place])
        who = confuser(matrix, both, "reference", found.annotators)
        values = {"first": both[0], "second": both[1], "n": n, "reference": found.name}
        values["above_all"] = above_all(who)
        yield Finding("reference confusion", (*who,), share.value[place], n / n_matched, values)


def reference_errors(found: ReferenceAgreement) -> Iterator[Finding]:
    """Yield who significantly misses, adds, misnames or misplaces, against the reference."""
    table = found.annotators
    share = table["n"] / max(int(table["n"].sum()), 1)
    for error in _OF_REFERENCE:
        figures = judged(table, errors(table, error))
        named = np.flatnonzero(figures.low >= LEAST_SHARE)
        if len(table) > 2:
            named = above_others(figures, table["n_images"])
            named = named[figures.value[named] >= LEAST_SHARE]
        for place in named.tolist():
            size, who = figures.value[place], (str(table["annotator"][place]),)
            # Of two, each is told alone.
            others = figures.others(place) if len(table) > 2 else ""
            values = {"others": others, "reference": found.name}
            weight, kind = float(size * share[place]), f"reference {error}"
            yield Finding(kind, who, size, weight, values, table="reference")
    if len(found.offsets):
        yield from offset_findings(table, found.offsets, reference=found.name)


def kind_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield the costliest kind of disagreement, and others with a significant cost."""
    table = of.table("decomposition")
    column = "f1_gain" if isnan(of.part.alpha) else "alpha_gain"
    gain, share = bounds(table, column), bounds(table, "share_any")
    drawn = shape_word(of.matched.compared)
    for rank, place in enumerate(np.argsort(-np.nan_to_num(gain.value), kind="stable").tolist()):
        if gain.value[place] > _LEAST_SHOWN_GAIN and not (rank and gain.low[place] <= 0):
            kind = Kind(KINDS.index(table["kind"][place]))
            about = _who_repeats(of) if kind == Kind.TWICE else drawn
            what = f"{KIND_WORDS[kind].format(about)}{_missed_most(of, kind)}{of.unknown}"
            size, weight = gain.value[place], share.value[place]
            values = {"share": in_percent(weight), "what": what}
            if settled := of.instead("without that", size):
                yield Finding("kind", (), size, weight, values, kind, gain=settled)


def _missed_most(of: Diagnosed, kind: Kind) -> str:
    """Return which objects are missed most, as a part of a sentence; "" if that is unknown."""
    if kind != Kind.MISSED:
        return ""
    objects = kinds_of_objects(of.matched)
    missed = objects.has_counted[objects.counted, kind].astype(np.bool_)
    # The crowding of an object rises with the number of those who drew it.
    every = covariates(of.matched)
    values = {name: every[name][objects.counted] for name in ("size", "border", CATEGORY)}
    found = dependence(values, missed, _TESTS_OF_ALL)
    if found is None:
        return ""
    return f", above all {OF_SOME}".format(**words_of_some(found, of.matched.data.category_names))


def _who_repeats(of: Diagnosed) -> str:
    """Return who of two annotators draws objects twice; of more, that some do."""
    if len(of.names) > 2:
        return "some annotators"
    n = of.table("boxes_per_object")["n_twice"]
    who, names = np.flatnonzero(n).tolist(), names_in_words(of.names)
    return joined([names[each] + f" ({n[each]:,})" * (len(who) > 1) for each in who]) or "one"


def confusion_findings(of: Diagnosed, *, named: bool) -> Iterator[Finding]:
    """Yield the categories whose confusion costs most; if `named`, by whom above all.

    Only pairs count that are confused more than others are, see `beyond_background`. Pairs whose
    merging significantly raises alpha come first, by gain, then the most frequent ones.
    """
    table = of.table("confusions")
    gain, share = bounds(table, "gain"), bounds(table, "share")
    n_given = np.bincount(of.matched.data.annotations.category)
    first, second = table.codes("first"), table.codes("second")
    beyond = beyond_background(table["n"], first, second, n_given)
    # Of a rare category many objects may be confused that are few of those with either.
    rarer = table["n"] / np.maximum(np.minimum(n_given[first], n_given[second]), 1)
    is_large = np.maximum(share.value, rarer) >= LEAST_SHARE
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & is_large & beyond)
    significant = np.where(gain.low > 0, gain.value, 0)
    order = np.lexsort([-table["n"][frequent], -significant[frequent]])
    n_objects = max(int(of.table("decomposition")["n_objects"].sum()), 1)
    for place in frequent[order][:_MOST_PAIRS].tolist():
        n, both = int(table["n"][place]), (table["first"][place], table["second"][place])
        shown = dict(zip(both, names_in_words(both), strict=True))
        who: list[str] = []
        if named:
            # By what most others say, an annotator is not blamed for whom others contradict too.
            matrix = of.table("confusion_matrix")
            who = confuser(matrix, both, "others", of.table("annotators"), "n_most")
        merged = None
        if gain.low[place] > 0 and gain.value[place] >= _LEAST_SHOWN_GAIN:
            merged = of.instead("as one category", gain.value[place])
        if len(who) != 1:
            values = {"first": shown[both[0]], "second": shown[both[1]], "n": n}
            values["above_all"] = above_all(who) or of.unknown
            size, weight = share.value[place], n / n_objects
            yield Finding("confusion", (*who,), size, weight, values, gain=merged)
            continue
        # How often the one annotator gives each category where the others give the other one.
        own = (matrix["annotator"] == who[0]) & (matrix["category"] != NO_BOX)
        cases = []
        for first_name, second_name in (both, both[::-1]):
            there = own & (matrix["others"] == first_name)
            n_called = int(matrix["n"][there & (matrix["category"] == second_name)].sum())
            rate = n_called / max(int(matrix["n"][there].sum()), 1)
            cases.append((rate, n_called, shown[first_name], shown[second_name]))
        (rate, _, *names), back = sorted(cases, reverse=True)
        values = {"first": names[0], "second": names[1], "back": ""}
        if back[0] >= LEAST_SHARE and back[1] >= LEAST_CONFUSED:
            values["back"] = f", {names[1]} {names[0]} in {in_percent(back[0])}"
        codes = int(first[place]), int(second[place])
        part, more = _of_some(of, "class_share", of.names.index(who[0]), codes)
        if part == " of some":
            values["back"] += f", {OF_SOME}".format(**more)
        yield Finding("calls", (*who,), rate, n / n_objects, values, Kind.CLASS_CONFLICT)


# Smaller offsets, in px and degrees, are not worth a sentence.
_LEAST_OFFSET = 0.5
# A smaller difference of the mean IoU is not worth a sentence.
_LEAST_DIFFERENCE = 0.03
# Two edges count as moved alike if their offsets differ by less than this factor.
_ALIKE = 0.5
# Turning a box of medium length by 1 degree lowers the IoU by about so many percent.
_LOST = 2.0
_MOST_JOINTS = 3


def displaced(
    annotators: Table, offsets: Table, *, of_reference: bool = False
) -> dict[tuple[int, ...], list[tuple[str, float]]]:
    """Return what an annotator, or half of them, significantly move, turn or resize.

    By annotators, these are the words for an offset, along an axis or of rotated boxes, and the
    largest share of the size. Of three annotators or more, they differ from 0 significantly more
    than the others.
    """
    # Of three of whom one copies, two are left.
    shape, known = (len(annotators), -1), annotators["n_images"] > 0
    significant = (holm(offsets["p_value"]) < ALARM).reshape(shape)
    lost, is_rotated = _lost(offsets).reshape(shape), "measure" in offsets.columns
    figures = np.stack(bounds(offsets, "offset" if is_rotated else "offset_px"))
    figures = figures.reshape(3, *shape)
    found: dict[tuple[int, ...], list[tuple[str, float]]] = {}
    n_parts = len(MEASURES if is_rotated else AXES)
    for number in range(n_parts):
        # The two edges of an axis, or one measure.
        own, share = figures[..., number::n_parts], lost[:, number::n_parts].max(1)
        moved = significant[:, number::n_parts].any(1) & (share >= LEAST_SHARE)
        groups: dict[tuple[int, ...], None] = {}
        near, far = own[..., 0], own[..., -1]
        # Intervals of sums and differences of edges from the edges' bounds are wide enough.
        tested = [near] if is_rotated else [(near + far) / 2, far - near[[0, 2, 1]]]
        for each in tested:
            sign = np.sign(each[0])
            ends = np.sort(sign * each[1:], axis=0)
            size = judged(annotators, Bounds(sign * each[0], *ends))
            large = moved & (size.low >= _LEAST_OFFSET)
            places = np.flatnonzero(large)
            if not of_reference and in_halves((sign * large)[known][:, None])[0]:
                # Half err one way and half the other way: those with the higher figures, or the
                # first of two, whose offset is the opposite of the other's.
                places = places[sign[places] > 0] if known.sum() > 2 else places[:1]
                groups[tuple(places.tolist())] = None
                continue
            if known.sum() > 2:
                places = above_others(size, annotators["n_images"])
                places = places[large[places]]
            elif not of_reference:
                places = places[places == np.argmax(known)]
            groups |= dict.fromkeys((place,) for place in places.tolist())
        for group in groups:
            words = _words(own[:, group[0]], number)
            found.setdefault(group, []).append((words, float(share[group[0]])))
    return found


def _lost(offsets: Table) -> FloatArray:
    """Return about the share of the overlap that each offset loses."""
    lost = np.abs(offsets["offset_percent"]) / 100
    if "measure" in offsets.columns:
        turned = _LOST * np.abs(np.sin(np.deg2rad(offsets["offset"])))
        lost = np.where(offsets["measure"] == "angle", turned, lost)
    return np.asarray(lost)


def _words(px: FloatArray, number: int) -> str:
    """Return how the edges of an axis (3, 2), or a measure of rotated boxes (3, 1), are moved."""
    if px.shape[1] == 1:
        unit, *ways = DIRECTIONS[MEASURES[number]]
        return f"{two_digits(abs(px[0, 0]))}{unit} {ways[int(px[0, 0] > 0)]}"
    (low, high), (edges, directions, sizes) = px[0], AXES[number]
    if low * high > 0 and min(abs(low), abs(high)) >= _ALIKE * max(abs(low), abs(high)):
        return f"{two_digits(abs(low + high) / 2)} px further {directions[int(low > 0)]}"
    wider, is_sure = sizes[int(high > low)], (np.sign(px[1]) == np.sign(px[2])).all()
    if low * high < 0 and is_sure and min(abs(low), abs(high)) >= _LEAST_OFFSET:
        return f"{two_digits(abs(high - low))} px {wider}"
    edge = int(abs(high) > abs(low))
    way = directions[int(px[0, edge] > 0)]
    return f"{wider} ({edges[edge]} edge {two_digits(abs(px[0, edge]))} px {way})"


def offset_findings(
    annotators: Table,
    offsets: Table,
    n_apart: IndexArray | None = None,
    *,
    reference: str = "",
    threshold: str = "",
    drawn: str = "boxes",
) -> Iterator[Finding]:
    """Yield who displaces, turns or resizes boxes, or what is `drawn`, significantly more.

    Offsets are measured from the others, or from the reference of this name. With one or two
    others, or if half of the annotators differ from half, it is unknown who is right. `n_apart` is
    how many boxes of each do not match for their place at the `threshold`, which is "" where place
    is not good, so that no offset is harmless.
    """
    names = [str(each) for each in annotators["annotator"]]
    shown = names_in_words(names)
    asked = np.flatnonzero(annotators["n_images"] > 0).tolist()
    share = annotators["n"] / max(int(annotators["n"].max()), 1)
    for group, own in displaced(annotators, offsets, of_reference=bool(reference)).items():
        who, members = [names[place] for place in group], [*group]
        rest = [names[place] for place in asked if place not in group]
        weight, cost = max(largest for _, largest in own), ""
        if n_apart is not None:
            apart = float(n_apart[members].sum() / max(int(annotators["n"][members].sum()), 1))
            cost, weight = f"; {in_percent(apart)} too far off to match", max(weight, apart)
            if apart < LEAST_SHARE:
                cost = f"; harmless at {threshold}" if threshold else ""
                weight = 0 if threshold else weight
        words, kind = joined([each for each, _ in own]), "offset"
        values = {"words": words, "other": reference or "the others", "cost": cost, "drawn": drawn}
        if not reference and (len(rest) < LEAST_OTHERS or len(group) > 1):
            kind = "either offset"
            values |= {"draw": "draw" if len(group) > 1 else "draws"}
            values["who"] = joined([shown[place] for place in group])
            values["other"] = joined([shown[place] for place in asked if place not in group])
        weight *= float(share[members].mean())
        cause, owner = None if reference else Kind.BADLY_PLACED, tuple(who) if len(who) == 1 else ()
        table = "rotated_offsets" if "measure" in offsets.columns else "offsets"
        table = "reference_offsets" if reference else table
        about = (*who, *rest) if kind == "either offset" and len(asked) == 2 else ()
        yield Finding(kind, owner, 0, weight, values, cause, table=table, about=about)


def precision_findings(
    of: Diagnosed, differences: Mapping[str, Bounds], offsets: Table | None
) -> Iterator[Finding]:
    """Yield whose annotations are significantly less similar, if no offset explains it."""
    table, difference = of.table("annotators"), differences["mean_similarity"]
    places = above_others(errors(table, "mean_similarity"), table["n_images"], difference)
    lost = np.zeros(len(table))
    if offsets is not None:
        reported = [place for group in displaced(table, offsets) for place in group]
        lost[reported] = _lost(offsets).reshape(len(table), -1)[reported].sum(1)
    large = (difference.value >= _LEAST_DIFFERENCE) & (lost < difference.value / 2)
    for place in places[large[places]].tolist():
        name, weight = of.names[place], float(difference.value[place] * of.share[place])
        pairs, own = of.of_pairs(name, "mean_iou"), table["mean_similarity"][place]
        # Where others err too, their pairs may be less similar than this annotator is to them.
        known = pairs[~np.isnan(pairs)]
        if len(known) and own > np.median(known):
            continue
        others = of_others(pairs, own, _two_digits, "the others with each other")
        what = "similarity (OKS)" if of.matched.compared == "keypoints" else "overlap"
        values = {"places": shape_word(of.matched.compared), "what": what, "others": others}
        yield Finding(
            "imprecise", (name,), own, weight, values, Kind.BADLY_PLACED, table="annotators"
        )


def joint_findings(of: Diagnosed) -> Iterator[Finding]:
    """Yield who exchanges or leaves out joints significantly more than the others."""
    people = of.table("joint_annotators")
    labels: list[str] = of.table("joints")["joint"].astype(str).tolist()
    shape = (-1, len(labels))
    n_images = people["n_images"].reshape(shape)
    for kind in ("swapped_share", "missing_share"):
        figures = Bounds(*(each.reshape(shape) for each in bounds(people, kind)))
        above = figures.low >= LEAST_SHARE
        if kind == "swapped_share":
            # Joints count as exchanged only if that is 100 times as likely: no test is needed.
            above &= figures.low > median_of_others(figures.value)
        for joint in range(len(labels) if kind == "missing_share" else 0):
            part, n_kinds = Bounds(*(each[:, joint] for each in figures)), KINDS_OF_ERRORS
            named = above_others(part, n_images[:, joint], None, n_kinds * len(labels))
            above[:, joint] &= np.isin(np.arange(len(above)), named)
        for who in np.flatnonzero(above.any(1)).tolist():
            order = np.argsort(-np.where(above[who], figures.value[who], -1), kind="stable")
            # Categories have joints of the same names.
            own = [*dict.fromkeys(labels[each] for each in order[: above[who].sum()])]
            size, name = float(figures.value[who, order[0]]), of.names[who]
            values = {"joints": first_few(own, _MOST_JOINTS)}
            cause = Kind.BADLY_PLACED if kind == "swapped_share" else None
            yield Finding(kind, (name,), size, size, values, cause, table="joint_annotators")
