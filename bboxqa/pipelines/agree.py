"""Agreement of a data set or of files: checks, comparison, matching, counting, and the result."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from msgspec.structs import replace

from bboxqa.agreement.nominal import value_sums
from bboxqa.agreement.object_counts import ObjectSums
from bboxqa.agreement.objects import Intervals, ThresholdSums, has_meaning, threshold_intervals
from bboxqa.agreement.resampling import FEW_CLUSTERS, few_images_note
from bboxqa.core.arrays import AnyPath, IndexArray, Progress, sum_by
from bboxqa.core.errors import ConfigError, in_python_words
from bboxqa.core.pseudonyms import pseudonyms_of
from bboxqa.core.text import count, first_few, one_line
from bboxqa.core.version import __version__
from bboxqa.formats.choices import given
from bboxqa.formats.opening import refuse_results
from bboxqa.formats.records import LOWEST_SCORE, ReadSettings
from bboxqa.geometry.registry import similarity
from bboxqa.geometry.similarity import OUTLINES
from bboxqa.matching import matchers
from bboxqa.model.annotations import Dataset, Repeats
from bboxqa.model.diagnosis import EVERYONE, Diagnosis, Story
from bboxqa.model.results import MeasuredAgreement, ThresholdResult
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.model.table import Categorical, Column, Table
from bboxqa.model.units import Coincidences
from bboxqa.pipelines.chance_existence import ChanceCounts, chance_existence
from bboxqa.pipelines.counting import (
    ImagePart,
    check_number,
    compared_images,
    count_agreement,
    too_crowded,
    with_all_asked,
)
from bboxqa.pipelines.joint_sigmas import labelled, with_points, with_sigmas
from bboxqa.pipelines.read import (
    AS_COMPARED,
    Data,
    check_boxes,
    paths_of,
    read_for,
    settings_of_keywords,
)
from bboxqa.pipelines.threshold_results import threshold_results
from bboxqa.report.agreement_summary import summary

if TYPE_CHECKING:
    from bboxqa.report.plots import Plots


class AgreementResult(MeasuredAgreement, frozen=True, eq=False, dict=True, kw_only=True):
    """Agreement at one or more thresholds, with charts, files, a page and sentences.

    Its attributes are those of :class:`bboxqa.model.results.MeasuredAgreement`.
    """

    part: ImagePart
    """The images that were compared, which a diagnosis examines."""
    sums: tuple[ThresholdSums, ...]
    """Sums over these images at each threshold."""
    progress: Progress | None = None

    @cached_property
    def plot(self) -> "Plots":
        """The charts of the result: ``result.plot.intervals()`` returns matplotlib axes.

        The names are intervals, category_intervals, sensitivity, pair_matrix, confusion_matrix,
        offsets and decomposition.
        """
        from bboxqa.report.plots import Plots

        return Plots(self)

    def diagnose(self) -> Diagnosis:
        """Return the story, the tables on which it is based, and the objects to review first.

        The diagnosis is computed once.

        Examples
        --------
        >>> import bboxqa
        >>> from bboxqa.examples import example_file
        >>> found = bboxqa.agree(bboxqa.read(example_file("fruits"))).diagnose()
        >>> found.tables["annotators"]["class_share"].round(2)
        array([0.67, 0.67, 0.33])
        >>> found.review["reason"][0]
        'Banana by Ann1 and Ann2, Apple by Ann3'
        """
        return self._diagnosis

    def tell(self) -> Story:
        """Return sentences on who, what and where lowers agreement at the first threshold."""
        from bboxqa.pipelines.diagnosis.story import diagnosed_units, story_of, story_parts

        of = diagnosed_units(self.part, self, progress=self.progress)
        if self.progress is not None:
            self.progress("diagnosing", 0, 1)
        return Story(**story_parts(of, self, story_of(of)))

    @cached_property
    def story(self) -> tuple[str, ...]:
        """Sentences on who, what and where lowers agreement at the first threshold."""
        return self.tell().story

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain objects, the content of ``bboxqa agree --format json``."""
        return summary(self)

    @in_python_words
    def save(self, out: AnyPath, *, force: bool = False) -> list[Path]:
        """Write the files of ``bboxqa agree --details --out`` to a folder, and return their paths.

        `bboxqa report`, `bboxqa cite` and `bboxqa compare` read the folder. Raises OutputError for
        a folder that has files, unless `force`, or that cannot be written.
        """
        from bboxqa.report.result_files import check_folder, write_folder

        target = Path(out)
        check_folder(target, force=force)
        found, kept = self._diagnosis, [Path(each.name) for each in self.sources]
        return write_folder(
            self, self._documents(), target, diagnosis=found, details=True, kept=kept
        )

    @in_python_words
    def report(
        self,
        path: AnyPath,
        *,
        images: AnyPath | Sequence[AnyPath] = (),
        top: int | None = None,
        split: bool = False,
        force: bool = False,
    ) -> tuple[str, ...]:
        """Write the page of ``bboxqa agree --report`` to a file, and return notes on its images.

        `images` are folders of the images, of which the `top` worst are shown. With `split`, `path`
        is a folder with a page for each image. Raises OutputError for what is no page of bboxqa,
        unless `force`.
        """
        from bboxqa.core.files import refuse_replacing
        from bboxqa.formats.sources import as_paths
        from bboxqa.pipelines.pictures import write_result
        from bboxqa.report.pages import PageTarget

        target = PageTarget(Path(path), [*map(Path, as_paths(images))], split, top)
        target.check(force=force)
        refuse_replacing([target.path], [Path(each.name) for each in self.sources])
        return write_result(self._documents(), target)

    def methods(self) -> str:
        """Return a paragraph for a paper with every choice, and what it cites as BibTeX."""
        from bboxqa.report.reproduction import methods
        from bboxqa.report.result_files import manifest

        return methods(summary(self), manifest(self.settings, self.sources, self.reading))

    def _documents(self) -> dict[str, dict[str, Any]]:
        from bboxqa.report.result_files import documents_of

        return documents_of(self, summary(self), self._diagnosis)

    @cached_property
    def _diagnosis(self) -> Diagnosis:
        from bboxqa.pipelines.diagnosis.story import diagnosed

        return diagnosed(self.part, self, progress=self.progress)

    def _repr_html_(self) -> str:
        from html import escape

        from bboxqa.report.agreement_text import text_lines

        text = "\n".join(text_lines(self, add=()))
        return f"<pre>{escape(text)}</pre>"


# With more boxes, or outlines, the story takes longer than the figures and is made on request only.
_QUICK, _QUICK_OUTLINES = 100_000, 10_000


def why_slow(images: ImagePart) -> str:
    """Return why the story of a result takes longer than the figures; "" if it does not."""
    n, has_outlines = len(images.data.annotations), images.data.annotations.segmentation is not None
    if n > (_QUICK_OUTLINES if has_outlines else _QUICK):
        drawn = "outlines" if has_outlines else "annotations"
        return f"with {n:,} {drawn} it takes longer than the figures"
    return too_crowded(images)


def agree(
    data: Dataset | Data,
    *,
    reference: str | Dataset | None = None,
    progress: Progress | None = None,
    **settings: Unpack[AgreeKeywords],
) -> AgreementResult:
    """Measure how far annotators agree.

    Parameters
    ----------
    data : Dataset, or what `read` takes
        What `read` returns, or what it reads; to say how, such as ``annotator_key``, call `read`.
    similarity : str
        How two annotations are compared: "bbox", "giou", "centroid", "obb" (rotated boxes),
        "polygon", "mask", "pixel", "raster", "keypoints", or one of another package.
    iou_threshold : float or sequence of float
        Two annotations can show one object if their similarity reaches it; one result each.
    matcher : {"auto", "hungarian", "recursive", "greedy", "average", "complete"}
        How annotations are joined to units: "auto" is "hungarian" for two, "greedy" for more.
    category_lenient : bool
        Prefer pairs of equal category when matching.
    missing : {"category", "ignore"}
        Whether a missing annotation counts as a category of its own, or is left out.
    empty_images : {"agree", "unit", "skip"}
        Whether an image that all left empty counts 1 in the mean, as a unit as well, or not at all.
    all_touched : bool
        For similarity "raster": burn every pixel that a ring touches.
    bootstrap, seed : int
        Replicates for the intervals, 40 to 100,000 or 0 for no intervals, and their seed.
    min_alpha, min_f1 : float, optional
        Images with an alpha or F1 below it are marked in `result.images`.
    checks : bool
        Whether boxes in another layout than x, y, width, height in pixels are refused.
    sigmas : float, sequence of float or "estimated"
        For similarity "keypoints": how far each key point scatters; by default COCO's.
    reference : str or Dataset, optional
        An annotator, or the file of an expert where `data` are files, or a data set of an expert,
        read with ``read(..., min_annotators=1)``. Each annotator is compared with it:
        `result.reference`. An annotator who is the reference has no part in the other figures.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    AgreementResult

    Raises
    ------
    ConfigError
        If a setting is not known, has a wrong type, or contradicts another.
    DatasetError
        If the annotations lack what the similarity compares, or boxes are in another layout.
    TypeError
        If the data are of another type.

    References
    ----------
    .. [1] Krippendorff, K. (2022). Content Analysis: An Introduction to Its Methodology (4th ed.).
       SAGE. doi:10.4135/9781071878781
    .. [2] Tschirschwitz, D., Klemstein, F., Stein, B. and Rodehorst, V. (2022). A Dataset for
       Analysing Complex Document Layouts in the Digital Humanities and Its Evaluation with
       Krippendorff's Alpha. GCPR 2022, LNCS 13485. doi:10.1007/978-3-031-16788-1_22

    Examples
    --------
    >>> from bboxqa.examples import example_file
    >>> round(agree(example_file("fruits"), iou_threshold=0.5).alpha, 4)
    0.0222
    """
    checked = settings_of_keywords(settings)
    reading = replace(AS_COMPARED, choices=given(), progress=progress)
    if not isinstance(data, Dataset) and not isinstance(reference, Dataset):
        return agree_files(data, checked, reading, reference)
    if not isinstance(data, Dataset):
        data = read_for(data, checked, replace(reading, min_annotators=1, by_files="all"))
    data = checked_data(data, checked, "data")
    if not isinstance(reference, str | None):
        reference = checked_data(reference, checked, "reference")
    return agree_with(data, checked, reference=reference, progress=progress)


def checked_data(data: Dataset, settings: AgreeSettings, name: str) -> Dataset:
    """Return a data set with headlines on doubtful boxes, if boxes are compared."""
    if not isinstance(data, Dataset):
        raise TypeError(f"{name} is a {type(data).__name__}; expected what `bboxqa.read` returns")
    if settings.checks and similarity(settings.similarity).needs not in OUTLINES:
        return check_boxes(data)
    return data


def agree_files(
    source: Data,
    settings: AgreeSettings,
    reading: ReadSettings = AS_COMPARED,
    reference: str | None = None,
) -> AgreementResult:
    """Read files and measure how far their annotators agree, with checked settings.

    `reference` is an annotator or a file; with one, the others may have no image in common.
    """
    is_file = reference is not None and Path(reference).is_file()
    reading = replace(
        reading,
        truth=Path(str(reference)) if is_file else None,
        # With a reference, one annotator is enough.
        min_annotators=2 if reference is None else 1,
        by_files="all",
    )
    refuse_results(map(Path, paths_of(source)), sent_files=True)
    data = read_for(source, settings, reading)
    if reading.score != LOWEST_SCORE and all(each.score is None for each in data.sources):
        raise ConfigError(
            "--score is for results: --predictions FILE, or a list of results among the files"
        )
    other: str | Dataset | None = None
    if reference is not None:
        from bboxqa.pipelines.reference import read_other

        if reading.pseudonyms is not None:
            reference = pseudonyms_of(reading.pseudonyms, ()).get(reference, reference)
        other = reference
        if reference not in data.annotator_names and Path(reference).exists():
            other = read_other(Path(reference), data, settings, reading)
    return agree_with(data, settings, reference=other, progress=reading.progress)


def agree_with(
    data: Dataset,
    settings: AgreeSettings,
    *,
    reference: str | Dataset | None = None,
    with_chance: bool = True,
    progress: Progress | None = None,
) -> AgreementResult:
    """Measure how far annotators agree, with checked settings; see `agree`."""
    found = None
    if similarity(settings.similarity).needs == "keypoints":
        data = with_sigmas(with_points(data, settings), settings)
    if reference is not None:
        from bboxqa.pipelines.reference import compared, with_reference

        found = compared(data, reference, settings)
        data = found.team
    check_number(data)
    part = compared_images(data)
    matchers.check_matcher(part.data.annotations, settings.matcher)
    # With three annotators in an image, the result depends on the order in which they are joined.
    # Greedy matching has no such order.
    several = data.assigned.sum(1)
    greedy = bool((several > 2).any()) and matchers.MATCHERS[settings.matcher].by_order
    counted = count_agreement(part, settings, greedy=greedy, progress=progress)
    chance = ChanceCounts(
        np.zeros((len(settings.iou_threshold), len(data.image_names), 2)), "it was not measured"
    )
    if with_chance:
        chance = chance_existence(part, settings, progress=progress)
    thresholds = threshold_results(part, settings, counted, chance, progress)
    notes = list[str]()
    if data.unlisted is not None:
        thresholds, notes = with_all_asked(thresholds, data, data.unlisted, counted, settings)
    if data.repeats is not None:
        thresholds = with_repeats(thresholds, data, settings, data.repeats, progress=progress)
    result = AgreementResult(
        thresholds=thresholds,
        n_images=int((several >= 2).sum()),
        annotator_names=data.annotator_names,
        n_annotations=len(part.data.annotations),
        n_crowd=int(data.annotations.iscrowd.sum()),
        n_empty_images=len(part.empty),
        settings=settings,
        version=__version__,
        attribution=data.attribution,
        sources=data.sources,
        reading=data.reading,
        notes=(
            *data.headlines,
            *notes,
            *data.notes,
            *notes_of(data, part, settings, counted.counts),
        ),
        headlines=data.headlines,
        why_slow=why_slow(part),
        part=part,
        sums=tuple(each.sums for each in counted.thresholds),
        progress=progress,
    )
    return result if found is None else with_reference(result, found, progress)


_SHOWN = 3
# By what `candidate_pairs` counts: the noun, and what is said of as many.
_COUNTED = {
    "flat": ("annotation", "without area: match no other"),
    "short": ("ring", "of fewer than 3 points left out"),
    "repaired": ("invalid polygon", "repaired before comparing"),
    "quadrilaterals": (
        "outline", "with four corners but no right angles: compared by the smallest rectangle"
    ),
    "other_outlines": (
        "other outline", "compared by the upright box; --similarity polygon compares outlines"
    ),
    "no_points": ("annotation", "without labelled key points: match no other"),
    "box_scale": (
        "annotation", "with the area of their box as scale, as the file gives none above 0"
    ),
    "point_scale": (
        "annotation", "with the extent of their key points as scale, without area and box"
    ),
    "no_scale": (
        "annotation",
        "without area and key points in a plane: match equal ones only; add `area` or `bbox`",
    ),
    "tangled": (
        "polygon", "with too many edges or self-crossings: compared in pixels, by the even-odd rule"
    ),
}  # fmt: skip


def notes_of(
    data: Dataset,
    part: ImagePart,
    settings: AgreeSettings,
    counts: Mapping[str, int],
) -> Iterator[str]:
    """Yield notes on the data that were compared."""
    crowds = data.annotations.category[data.annotations.iscrowd]
    if len(crowds):
        names = [data.category_names[each] for each in np.unique(crowds).tolist()]
        shown = first_few(names, _SHOWN, lambda each: repr(one_line(each)))
        yield f"{count(len(crowds), 'crowd annotation')} left out, of {shown}"
    is_shared = data.assigned.sum(1) >= 2
    drawn, compared = (
        np.bincount(each.annotations.image, minlength=len(is_shared)) > 0
        for each in (data, part.data)
    )
    if only_crowds := int((drawn & ~compared & is_shared).sum()):
        images = count(only_crowds, "image")
        yield f"{images} with crowd annotations only: not in the mean over images"
    for name, (noun, text) in _COUNTED.items():
        if counts.get(name):
            yield f"{count(counts[name], noun)} {text}"
    if settings.bootstrap and 0 < is_shared.sum() < FEW_CLUSTERS:
        yield few_images_note(int(is_shared.sum()))
    if part.paired is not None:
        yield (
            f"pairs of annotators are counted among the {np.count_nonzero(part.paired):,} of "
            f"{len(part.paired):,} who drew the most annotations"
        )


FIGURES = {
    "f1": "f1", "alpha": "pooled", "class_alpha": "class", "class_share": "class share",
    "mean_iou": "place",
}  # fmt: skip
"""Columns of the table, each with a ``_low`` and a ``_high``, and their names in `ThresholdSums`.
"""


def with_repeats(
    results: tuple[ThresholdResult, ...], data: Dataset, settings: AgreeSettings,
    repeats: Repeats, *, progress: Progress | None = None,
) -> tuple[ThresholdResult, ...]:  # fmt: skip
    """Return results with the agreement of annotators with themselves: of all, and of each."""
    names, sessions = data.annotator_names, repeats.sessions
    if similarity(settings.similarity).needs == "keypoints":
        sessions = replace(labelled(sessions), joint_sigmas=data.joint_sigmas)
    part = compared_images(sessions)
    counted = count_agreement(part, settings, progress=progress)
    drawn = np.bincount(part.data.annotations.image, minlength=len(repeats.image))
    who = np.unique(repeats.annotator)
    cells = [np.arange(len(repeats.image))]
    cells += [np.flatnonzero(repeats.annotator == each) for each in who.tolist()]
    people = np.append(len(names), who).astype(np.int32)
    columns: dict[str, Column] = {
        "annotator": Categorical(people, (*names, EVERYONE)),
        "n_images": np.array([len(np.unique(repeats.image[each])) for each in cells]),
        "n_annotations": np.array([int(drawn[each].sum()) for each in cells]),
    }
    found = []
    for result, counts in zip(results, counted.thresholds, strict=True):
        rows = [_row(counts.sums, each, repeats, settings) for each in cells]
        figures = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        found.append(replace(result, repeats=Table({**columns, **figures})))
    return tuple(found)


def _row(
    sums: ThresholdSums, cells: IndexArray, repeats: Repeats, settings: AgreeSettings
) -> dict[str, float]:
    """Return the figures of some annotators; intervals draw images."""
    images, place = np.unique(repeats.image[cells], return_inverse=True)
    group = np.full(len(repeats.image), -1)
    group[cells] = place
    n_groups = len(images)
    sums = replace(
        sums,
        coincidences=of_groups(sums.coincidences, group, n_groups),
        classes=of_groups(sums.classes, group, n_groups),
        image_alpha=np.full(n_groups, nan),
        meaningful_alpha=np.full(n_groups, nan),
        objects=ObjectSums(*(sum_by(place, e[cells], n_groups) for e in sums.objects.stacked())),
        chance=np.zeros((n_groups, 2)),
    )
    figures = {name: value for name, (value, _) in sums.figures().items()}
    intervals: Intervals = {}
    if settings.bootstrap and n_groups > 1:
        clusters = np.arange(n_groups)
        intervals = threshold_intervals([sums], clusters, settings.bootstrap, settings.seed)[0]
    if not has_meaning(value_sums(sums.coincidences)[0][:-1], settings.missing):
        figures["pooled"] = nan
    row: dict[str, Any] = {}
    for name, kind in FIGURES.items():
        known = kind in intervals and not isnan(figures[kind])
        low, high = intervals[kind][0] if known else (nan, nan)
        row |= {name: figures[kind], f"{name}_low": low, f"{name}_high": high}
    return row


def of_groups(
    found: Coincidences, group: IndexArray, n_groups: int, value: IndexArray | None = None
) -> Coincidences:
    """Return coincidences summed over groups; `group` maps old to new groups, -1 to none."""
    value = np.arange(found.n_values) if value is None else value
    n_values = int(value[-1]) + 1
    kept = np.flatnonzero(group[found.group] >= 0)
    key = group[found.group[kept]] * n_values + value[found.value[kept]]
    keys, place = np.unique(key, return_inverse=True)
    return Coincidences(
        group=(keys // n_values).astype(np.int32),
        value=(keys % n_values).astype(np.int32),
        marginal=sum_by(place, found.marginal[kept], len(keys)),
        diagonal=sum_by(place, found.diagonal[kept], len(keys)),
        n_groups=n_groups,
        n_values=n_values,
    )
