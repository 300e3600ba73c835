"""Sentences about annotators and a reference: who agrees least with it."""

from collections.abc import Iterator

import numpy as np

from bboxqa.model.diagnosis import Line
from bboxqa.model.results import ReferenceAgreement, ThresholdResult
from bboxqa.pipelines.diagnosis.sentences.about_places import offset_sentences
from bboxqa.pipelines.diagnosis.sentences.about_rotation import rotated_sentences
from bboxqa.pipelines.diagnosis.sentences.sentence import (
    LEAST_CONFUSED,
    LEAST_SHARE,
    Sentence,
    confuser,
    most_named,
    others_in_words,
)
from bboxqa.pipelines.diagnosis.sentences.significance import above_others, bounds, is_first, judged

_MOST_NAMED = 2


def reference_sentences(part: ThresholdResult) -> Iterator[Line]:
    """Yield who agrees significantly less with the reference than the others do, if anybody.

    With two annotators, their intervals must not overlap.
    """
    if part.reference is None:
        return
    table = part.reference.annotators
    f1 = bounds(table, "f1")
    error = judged(table, f1.of_complement())
    worst = above_others(error, table["n_images"])[:1].tolist()
    if len(table) == 2 and not error.low.max() > error.high.min():
        worst = []
    for place in worst:
        name = table["annotator"][place]
        how = "least" if is_first(error, place) else "less than most do"
        precision, recall = bounds(table, "precision"), bounds(table, "recall")
        yield Line(
            f"{name} agrees {how} with the reference {part.reference.name}: F1 "
            f"{f1.value[place]:.2f} [{f1.low[place]:.2f}, {f1.high[place]:.2f}]"
            f"{others_in_words(f1, place, '{:.2f}'.format)}; {recall.percent(place)} of its "
            f"objects are matched by {name}, and {precision.percent(place)} of what {name} drew "
            "match one of them",
            (name,),
        )


def reference_confusion_sentences(found: ReferenceAgreement) -> Iterator[Sentence]:
    """Yield the categories that are most often confused with those of the reference, and by whom.

    With a reference, these replace the confusions of annotators with each other.
    """
    table, matrix = found.confusions, found.confusion_matrix
    share, n_matched = bounds(table, "share"), max(int(matrix["n"].sum()), 1)
    frequent = np.flatnonzero((table["n"] >= LEAST_CONFUSED) & (share.value >= LEAST_SHARE))
    for place in frequent[:_MOST_NAMED].tolist():
        both = table["first"][place], table["second"][place]
        n = int(table["n"][place])
        text = (
            f"{both[0]} and {both[1]} are confused in {n:,} of the boxes that match objects of "
            f"{found.name}, {share.percent(place)} of those with either"
        )
        own = matrix.take(
            np.flatnonzero(np.isin(matrix["category"], both) & np.isin(matrix["reference"], both))
        )
        who = confuser(own, own["category"] != own["reference"], found.annotators)
        yield Sentence(n / n_matched, f"{text}, above all by {who}" if who else text)


_ERRORS = (
    ("miss_rate", "{name} misses {percent} of the objects of {reference}"),
    ("extra_rate", "{reference} has no object in {percent} of the boxes of {name}"),
    ("twice_rate", "{name} draws objects twice: {percent} of those of {reference} that they drew"),
    ("confusion", "{name} gives another category than {reference} to {percent} of its objects"),
)


def error_sentences(found: ReferenceAgreement) -> Iterator[Sentence]:
    """Yield who significantly misses, adds, misnames or misplaces, against the reference.

    Of three annotators or more, those who do so more than the others; of fewer, everyone who does.
    """
    table = found.annotators
    share = table["n"] / max(int(table["n"].sum()), 1)
    for error, words in _ERRORS:
        of_class = bounds(table, "class_share").of_complement()
        figures = judged(table, of_class if error == "confusion" else bounds(table, error))
        named = np.flatnonzero(figures.low >= LEAST_SHARE)
        if len(table) > 2:
            named = above_others(figures, table["n_images"])
            named = named[figures.value[named] >= LEAST_SHARE]
        for place, more, see in most_named(named.tolist(), "reference", figures.value * share):
            name = table["annotator"][place]
            text = words.format(
                name=name,
                percent=figures.percent(place),
                reference=found.name,
            )
            if len(table) > 1:
                text += others_in_words(figures, place)
            weight = figures.value[place] * share[place]
            yield Sentence(weight, text + more, annotators=(name,), see=see)
    if "measure" in found.offsets.columns:
        yield from rotated_sentences(found.offsets, table, found.name)
    elif len(found.offsets):
        yield from offset_sentences(found.offsets, table, found.name)
