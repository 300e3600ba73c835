"""Agreement of a data set or of files: checks, comparison, matching, counting and figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from msgspec.structs import replace

from bboxqa.core.errors import ConfigError
from bboxqa.core.pseudonyms import pseudonyms_of
from bboxqa.core.types import Progress
from bboxqa.core.version import __version__
from bboxqa.formats.choices import given
from bboxqa.formats.dataset.reading import Reading
from bboxqa.formats.records import LOWEST_SCORE
from bboxqa.formats.unreadable import refuse_results
from bboxqa.geometry.similarities.registry import needs_outlines
from bboxqa.matching import matchers
from bboxqa.model.annotations import Dataset
from bboxqa.model.settings import AgreeKeywords, AgreeSettings
from bboxqa.pipelines.agreement_result import AgreementResult
from bboxqa.pipelines.chance_existence import chance_existence, not_measured
from bboxqa.pipelines.counting import (
    AgreementCounts,
    check_number,
    compared_images,
    count_sequentially,
    with_all_asked,
)
from bboxqa.pipelines.diagnosis.diagnoser import ImageDiagnoser
from bboxqa.pipelines.joint_sigmas import with_points, with_sigmas
from bboxqa.pipelines.notes import all_asked_notes, notes_of
from bboxqa.pipelines.read import AS_COMPARED, Data, paths_of, read_for
from bboxqa.pipelines.refusals import check_boxes
from bboxqa.pipelines.repeats import repeat_notes, with_repeats
from bboxqa.pipelines.settings import settings_of_keywords
from bboxqa.pipelines.threshold_results import measured_thresholds, result_of

CountAll = Callable[..., AgreementCounts]


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
    bootstrap : int
        Replicates for the intervals, 40 to 100,000; 0 for no intervals.
    seed : int
        Seed of the replicates.
    min_alpha, min_f1 : float, optional
        Images with an alpha or F1 below it are marked in `result.images`.
    checks : bool
        Whether boxes in another layout than x, y, width, height in pixels are refused.
    sigmas : float, sequence of float or "estimated"
        For similarity "keypoints": how far each key point scatters; by default COCO's.
    reference : str or Dataset, optional
        An annotator, or the file of an expert where `data` are files, or a data set of an expert,
        read with ``read(..., min_annotators=1)``.
        Each annotator is compared with it: `result.reference`. An annotator who is the reference
        has no part in the other figures.
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
        If the data are neither a `Dataset` nor paths, a document or a table.

    References
    ----------
    .. [1] Krippendorff, K. (2022). Content Analysis: An Introduction to Its Methodology (4th ed.).
       SAGE. doi:10.4135/9781071878781
    .. [2] Tschirschwitz, D., Klemstein, F., Stein, B. and Rodehorst, V. (2022). A Dataset for
       Analysing Complex Document Layouts in the Digital Humanities and Its Evaluation with
       Krippendorff's Alpha. GCPR 2022, LNCS 13485. doi:10.1007/978-3-031-16788-1_22

    Examples
    --------
    >>> import bboxqa
    >>> from bboxqa.examples import example_file
    >>> round(bboxqa.agree(example_file("fruits"), iou_threshold=0.5).alpha, 4)
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
    """Return a data set with headlines on doubtful boxes, if boxes are compared.

    Raise DatasetError if the boxes are in another layout than x, y, width, height in pixels, and
    TypeError for what is not a data set, such as the name of a file.
    """
    if not isinstance(data, Dataset):
        raise TypeError(f"{name} is a {type(data).__name__}; expected what `bboxqa.read` returns")
    if settings.checks and not needs_outlines(settings.similarity):
        return check_boxes(data)
    return data


def agree_files(
    source: Data,
    settings: AgreeSettings,
    reading: Reading = AS_COMPARED,
    reference: str | None = None,
) -> AgreementResult:
    """Read files and measure how far their annotators agree, with checked settings.

    Files that would give a false result are refused with the findings of `validate`. `reference`
    is an annotator or a file; with one, the other annotators may have no image in common.
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
        from bboxqa.pipelines.reference import read_reference

        if reading.pseudonyms is not None:
            reference = pseudonyms_of(reading.pseudonyms, ()).get(reference, reference)
        other = read_reference(reference, data, settings, reading)
    return agree_with(data, settings, reference=other, progress=reading.progress)


def agree_with(
    data: Dataset,
    settings: AgreeSettings,
    *,
    reference: str | Dataset | None = None,
    count_all: CountAll | None = None,
    with_chance: bool = True,
    progress: Progress | None = None,
) -> AgreementResult:
    """Measure how far annotators agree, with checked settings; see `agree`.

    Without `with_chance`, existence is not corrected for chance. `count_all` counts agreement in
    the images, for instance on other machines.
    """
    data, found = with_sigmas(with_points(data, settings), settings), None
    if reference is not None:
        from bboxqa.pipelines.reference import compared, reference_matches, with_reference

        if isinstance(reference, Dataset):
            reference = with_points(reference, settings)
        found = compared(data, reference)
        both = with_sigmas(found.both, settings, of=data)
        matches = reference_matches(both, settings, progress=progress)
        data = found.team
    check_number(data)
    part = compared_images(data)
    matchers.check_matcher(part.data.annotations, settings.matcher)
    # With three annotators in an image, the result depends on the order in which they are joined.
    # Greedy matching has no such order.
    several = data.assigned.sum(1)
    greedy = bool((several > 2).any()) and matchers.matcher(settings.matcher).by_order
    counted = (count_all or count_sequentially)(part, settings, greedy=greedy, progress=progress)
    chance = not_measured(part, settings)
    if with_chance:
        chance = chance_existence(part, settings, progress=progress)
    measured = measured_thresholds(part, settings, counted, chance, progress)
    thresholds = tuple(map(result_of, measured))
    thresholds = with_all_asked(thresholds, data, counted, settings)
    thresholds = with_repeats(thresholds, data, settings, progress=progress)
    result = AgreementResult(
        thresholds=thresholds,
        n_images=int((several >= 2).sum()),
        n_annotators=len(data.annotator_names),
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
            *(note for each in thresholds for note in all_asked_notes(data, each)),
            *data.notes,
            *notes_of(data, part, settings, counted.counts, thresholds[0]),
            *repeat_notes(thresholds[0]),
        ),
        headlines=data.headlines,
        diagnoser=ImageDiagnoser(part, progress),
    )
    return result if found is None else with_reference(result, found, matches)
