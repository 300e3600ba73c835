"""Sentences about annotators: who misses, adds, misnames and misplaces objects."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.text import count, joined
from bboxqa.diagnostics.categories import Unused
from bboxqa.diagnostics.decomposition import Kind
from bboxqa.diagnostics.rates import asked_with_others
from bboxqa.model.diagnosis import NO_BOX
from bboxqa.model.results import ThresholdResult
from bboxqa.model.table import Table
from bboxqa.model.units import MatchedUnits
from bboxqa.pipelines.diagnosis.sentences.paired import f1_of_others
from bboxqa.pipelines.diagnosis.sentences.sentence import (
    LEAST_SHARE,
    Sentence,
    Worst,
    between_others,
    most_named,
    of_others_in_words,
    others_in_words,
)
from bboxqa.pipelines.diagnosis.sentences.significance import (
    Bounds,
    above_others,
    bounds,
    differ,
    is_first,
    judged,
    share_bounds,
)
from bboxqa.pipelines.diagnosis.sentences.told_once import explained, misses_only

# Sentences on repeated, split and merged objects, each with its rate.
_RATES = {"misses": "miss_rate", "adds": "extra_rate", "misnames": "class_share"}


def worst_annotator(
    part: ThresholdResult,
    matched: MatchedUnits,
    tables: Mapping[str, Table],
    differences: Mapping[str, Bounds],
) -> Iterator[Worst]:
    """Yield who matches the others least, of three or more, and alpha without this annotator."""
    table = tables["annotators"]
    f1 = bounds(table, "f1")
    error, alpha = f1.of_complement(), part.alpha
    # Annotators who drew nothing have a sentence of their own: `idle_sentences`.
    named = above_others(error, table["n_images"], differences["f1"])
    for place in named[table["n"][named] > 0][:1].tolist():
        name = table["annotator"][place]
        how = "least" if is_first(error, place) else "less than most do"
        text = (
            f"{name} matches the others {how}: F1 {f1.value[place]:.2f} "
            f"[{f1.low[place]:.2f}, {f1.high[place]:.2f}]"
        )
        text += of_others_in_words(f1_of_others(matched, place), "{:.2f}".format)
        vital, without = bounds(table, "vitality"), ""
        if vital.high[place] < 0:
            without = (
                f"; without {name}, alpha would be {alpha - vital.value[place]:z.2f} and not "
                f"{alpha:z.2f} ({-vital.high[place]:z.2f} to {-vital.low[place]:z.2f} higher)"
            )
        yield Worst(name, text, without)


def idle_sentences(matched: MatchedUnits, table: Table) -> Iterator[Sentence]:
    """Yield who drew nothing where others drew objects."""
    of, asked = matched.data.annotations, asked_with_others(matched)
    objects, first = np.unique(matched.objects, return_index=True)
    n_objects = np.bincount(of.image[first], minlength=len(asked))
    idle = np.flatnonzero((table["n"] == 0) & (n_objects @ asked > 0)).tolist()
    for place, more, see in most_named(idle, "annotators"):
        name = table["annotator"][place]
        n_images, n_there = int(asked[:, place].sum()), int(n_objects @ asked[:, place])
        yield Sentence(
            n_there / len(objects),
            f"{name} drew nothing in {count(n_images, 'image')} (the others "
            f"drew {count(n_there, 'object')} there){more}",
            *explained(Kind.MISSED, name, more),
            annotators=(name,),
            see=see,
        )


def rate_sentences(
    tables: Mapping[str, Table],
    differences: Mapping[str, Bounds],
    pairs: Table,
    have_judges: BoolArray,
    unused: Mapping[str, Sequence[str]],
) -> Iterator[Sentence]:
    """Yield who misses, adds or misnames significantly more objects than others, of three or more.

    `have_judges` is (A,) bool: annotators with two others who can judge what is missed or added;
    `unused` has the categories that each annotator never draws, by name.
    """
    table = tables["annotators"]
    names, share = table["annotator"], table["n"] / max(int(table["n"].sum()), 1)
    matrix = tables["confusion_matrix"]
    for what, rate in _RATES.items():
        found = bounds(table, rate)
        found = found.of_complement() if what == "misnames" else found
        places = above_others(found, table["n_images"], differences[rate])
        places = places[(found.value[places] >= LEAST_SHARE) & (table["n"][places] > 0)]
        if what != "misnames":
            places = places[have_judges[places]]
        for place, more, see in most_named(places.tolist(), "annotators", found.value * share):
            name, percent = names[place], found.percent(place)
            others = others_in_words(found, place)
            own = matrix.take(np.flatnonzero(matrix["annotator"] == name))
            if what == "misses":
                if misses_only(own, unused.get(name, ())):
                    continue
                text = f"{name} misses {percent} of the objects that most others drew"
                left_out = f", among them all {joined(unused.get(name, ()))}"
                text += left_out if name in unused else _above_all(own)
            elif what == "adds":
                text = f"most others did not draw {percent} of what {name} drew"
            else:
                text = f"{name} and the others gave different categories to {percent} of the "
                text += f"objects that both drew{_most_often(own, len(names) - 1)}"
                others = between_others(pairs, name, "class_share", _percent_of_complement)
            kind = Kind.CLASS_CONFLICT if what == "misnames" else Kind.MISSED
            weight, own_kind = found.value[place] * share[place], explained(kind, name, more)
            text += others + more
            yield Sentence(weight, text, *own_kind, annotators=(name,), see=see)


def _percent_of_complement(share: float) -> str:
    return f"{100 * (1 - share):.1f} %"


def two_annotators(table: Table, *, has_copies: bool) -> Iterator[Sentence]:
    """Yield what each of two annotators drew and the other did not.

    If copies of one of them are left out, only a significant difference is reported.
    """
    found, names = judged(table, bounds(table, "miss_rate")), table["annotator"]
    if len(table) != 2 or not found.low.max() >= LEAST_SHARE:
        return
    if has_copies and not found.low.max() > found.high.min():
        return
    order = np.argsort(-found.value, kind="stable").tolist()
    parts = [
        f"{names[place]} did not draw {found.percent(place)} of what {names[1 - place]} drew"
        if found.value[place]
        else f"{names[place]} drew all that {names[1 - place]} drew"
        for place in order
    ]
    both = names[0], names[1]
    yield Sentence(float(found.value.mean()), ", and ".join(parts), annotators=both)


def unused_sentences(matched: MatchedUnits, unused: Sequence[Unused]) -> Iterator[Sentence]:
    """Yield which annotators never draw which categories."""
    names, categories = matched.data.annotator_names, matched.data.category_names
    people: dict[int, list[Unused]] = {}
    for each in unused:
        people.setdefault(each.annotator, []).append(each)
    for place, more, see in most_named([*people], "category_use"):
        group, name = people[place], names[place]
        parts = [f"{categories[each.category]} ({each.n_objects:,})" for each in group]
        parts[0] = f"{parts[0][:-1]} objects of others)"
        yield Sentence(
            1.0,
            f"{name} never draws {joined(parts)}: perhaps "
            f"{'it was' if len(group) == 1 else 'they were'} not asked for{more}",
            *explained(Kind.MISSED, name, more),
            annotators=(name,),
            see=see,
        )


def unused_by_name(matched: MatchedUnits, unused: Sequence[Unused]) -> dict[str, list[str]]:
    """Return the categories that annotators never draw, by the name of each annotator."""
    found: dict[str, list[str]] = {}
    for each in unused:
        categories = found.setdefault(matched.data.annotator_names[each.annotator], [])
        categories.append(matched.data.category_names[each.category])
    return found


_SHAPES = (
    ("twice_rate", "{} draws {} of their objects twice"),
    ("split_rate", "{} splits objects: {} of those that they drew are drawn in parts"),
    (
        "merge_rate",
        "{} merges objects: {} of those that most others drew are in one box with another one",
    ),
)


def shape_sentences(tables: Mapping[str, Table]) -> Iterator[Sentence]:
    """Yield who draws objects twice, splits or merges them significantly more than the others."""
    table, annotators = tables["boxes_per_object"], tables["annotators"]
    share = annotators["n"] / max(int(annotators["n"].sum()), 1)
    for rate, words in _SHAPES:
        found = bounds(table, rate)
        places = above_others(found, annotators["n_images"])
        places = places[found.value[places] >= LEAST_SHARE]
        named = most_named(places.tolist(), "boxes_per_object", found.value * share)
        for place, more, see in named:
            name = table["annotator"][place]
            text = words.format(name, found.percent(place))
            text += others_in_words(found, place) + more
            kind = Kind.TWICE if rate == "twice_rate" else Kind.SPLIT
            weight, own = found.value[place] * share[place], explained(kind, name, more)
            yield Sentence(weight, text, *own, annotators=(name,), see=see)


def _above_all(own: Table) -> str:
    """Return the category that an annotator misses significantly more often than all objects."""
    # Labels that at most half of the others gave to any object have none to miss.
    drawn = (own["others"] != NO_BOX) & (own["n_most"] > 0)
    labels, place = np.unique(own["others"][drawn].astype(str), return_inverse=True)
    if len(labels) < 2:
        return ""
    # An object that several others saw counts once.
    n = np.bincount(place, own["n_most"][drawn]).astype(np.float64)
    missed = np.bincount(place, (own["n_most"] * (own["category"] == NO_BOX))[drawn])
    low = share_bounds(missed / n, n, len(labels)).low
    best = int(np.argmax(missed))
    return f", above all {labels[best]}" if low[best] > missed.sum() / n.sum() else ""


def _most_often(own: Table, n_others: int) -> str:
    """Return the most frequent confusion of an annotator with the others, in words.

    It is introduced by "most often" if a sign test finds it more frequent than the next one.
    """
    differs = (own["category"] != NO_BOX) & (own["others"] != NO_BOX)
    differs &= own["category"] != own["others"]
    rows = np.flatnonzero(differs)
    if not len(rows):
        return ""
    # An object that several others saw counts once.
    order = rows[np.argsort(-own["n"][rows], kind="stable")]
    first, second = (np.append(own["n"][order], 0)[:2] / n_others).tolist()
    how = "most often" if differ(first, second) else "for example"
    best = order[0]
    return f", {how} {own['category'][best]} where they say {own['others'][best]}"
