"""Agreement of a data set: checks, comparison, matching, counting and figures in order."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Never

import numpy as np

from bboxqa.core.errors import ConfigError
from bboxqa.core.types import Progress
from bboxqa.core.version import __version__
from bboxqa.geometry.similarities.registry import needs_outlines
from bboxqa.matching import matchers
from bboxqa.matching.matchers import check_matcher
from bboxqa.model.annotations import Dataset
from bboxqa.model.diagnosis import ReadShapes
from bboxqa.model.settings import AgreeSettings, EmptyImages, Missing
from bboxqa.pipelines.chance_existence import chance_existence, not_measured
from bboxqa.pipelines.counting import (
    AgreementCounts,
    ImagePart,
    check_number,
    compared_images,
    count_sequentially,
    figures_if_all_asked,
    with_all_asked,
)
from bboxqa.pipelines.diagnosis.diagnoser import ImageDiagnoser
from bboxqa.pipelines.joint_sigmas import with_points, with_sigmas
from bboxqa.pipelines.notes import (
    all_asked_notes,
    chance_notes,
    crowd_notes,
    image_notes,
    pair_note,
    repeat_notes,
    with_repeats,
)
from bboxqa.pipelines.refusals import check_boxes
from bboxqa.pipelines.settings import agree_settings_from
from bboxqa.pipelines.threshold_results import threshold_results
from bboxqa.report.agreement_result import AgreementResult

CountAll = Callable[..., AgreementCounts]
_OF_READING = (
    "annotator_key", "attribution", "filter", "join", "asked", "category_map", "session_key",
    "time_key", "tracks", "predictions", "score")  # fmt: skip


def agree(
    data: Dataset,
    *,
    similarity: str = "bbox",
    iou_threshold: float | Sequence[float] = 0.5,
    matcher: str = "auto",
    category_lenient: bool = False,
    missing: Missing = "category",
    empty_images: EmptyImages = "agree",
    all_touched: bool = False,
    bootstrap: int = 1000,
    seed: int = 0,
    min_alpha: float | None = None,
    min_f1: float | None = None,
    checks: bool = True,
    sigmas: float | Sequence[float] | Literal["estimated"] = (),
    reference: str | Dataset | None = None,
    progress: Progress | None = None,
    **unknown: Never,
) -> AgreementResult:
    """Measure how far annotators agree.

    Parameters
    ----------
    data : Dataset
        What `read_coco` returns.
    similarity : str
        How two annotations are compared: "bbox", "giou", "centroid", "obb" (rotated boxes),
        "polygon", "mask", "pixel", "raster", "keypoints", or the name of a similarity of another
        package.
    iou_threshold : float or sequence of float
        Two annotations can show one object if their similarity reaches it; one result each.
    matcher : {"auto", "hungarian", "recursive", "greedy", "average", "complete"}
        How annotations are joined to units. "auto" is "hungarian" in images of two annotators, and
        "greedy" in others.
    category_lenient : bool
        Prefer pairs of equal category when matching.
    missing : {"category", "ignore"}
        Whether a missing annotation counts as a category of its own, or is left out.
    empty_images : {"agree", "unit", "skip"}
        Whether an image that all its annotators left empty counts as agreement in the mean over
        images, as one unit of agreement as well, or not at all.
    all_touched : bool
        For similarity "raster": burn every pixel that a ring touches.
    bootstrap : int
        Replicates for the intervals, 40 to 100,000; 0 for no intervals.
    seed : int
        Seed of the replicates.
    min_alpha : float, optional
        Images with an alpha below it are marked in `result.images`.
    min_f1 : float, optional
        Images with an F1 below it are marked as well.
    checks : bool
        Whether boxes in another layout than x, y, width, height in pixels are refused.
    sigmas : float, sequence of float or "estimated"
        For similarity "keypoints": how far each key point scatters; by default COCO's.
    reference : str or Dataset, optional
        An annotator, or a data set with the annotations of an expert. Each annotator is compared
        with it: `result.reference`. An annotator who is the reference has no part in the other
        figures. Read a file of one annotator with ``read_coco(..., min_annotators=1)``.
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
        If the annotations do not have what the similarity compares, or their boxes are in another
        layout.
    TypeError
        If the data are not a `Dataset` but, for instance, the name of a file.

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
    >>> data = bboxqa.read_coco(example_file("fruits"))
    >>> round(bboxqa.agree(data, iou_threshold=0.5).alpha, 4)
    0.0222
    """
    check_dataset(data, "data")
    settings = settings_of_keywords(
        {
            "similarity": similarity,
            "iou_threshold": iou_threshold,
            "matcher": matcher,
            "category_lenient": category_lenient,
            "missing": missing,
            "empty_images": empty_images,
            "all_touched": all_touched,
            "bootstrap": bootstrap,
            "seed": seed,
            "min_alpha": min_alpha,
            "min_f1": min_f1,
            "checks": checks,
            "sigmas": sigmas,
            **unknown,
        }
    )
    data = check_before_measuring(data, settings)
    if isinstance(reference, Dataset):
        reference = check_before_measuring(reference, settings)
    elif not isinstance(reference, str | None):
        raise TypeError(
            f"reference is a {type(reference).__name__}; expected the name of an annotator, or "
            "what `bboxqa.read_coco` returns"
        )
    return agree_with(data, settings, reference=reference, progress=progress)


def check_dataset(data: Dataset, name: str) -> None:
    """Refuse what is not a data set, such as the name of a file."""
    if not isinstance(data, Dataset):
        raise TypeError(
            f"{name} is a {type(data).__name__}; expected what `bboxqa.read_coco` returns"
        )


def check_before_measuring(data: Dataset, settings: AgreeSettings) -> Dataset:
    """Return a data set with headlines on doubtful boxes, if boxes are compared.

    Raise DatasetError if the boxes are in another layout than x, y, width, height in pixels.
    """
    if settings.checks and not needs_outlines(settings.similarity):
        return check_boxes(data)
    return data


def settings_of_keywords(keywords: Mapping[str, Any]) -> AgreeSettings:
    """Return the settings of a call from Python; raise ConfigError for settings of `read_coco`."""
    for name in _OF_READING:
        if keywords.get(name) is not None:
            raise ConfigError(f"{name} is for `bboxqa.read_coco`; the data set is already read")
    return agree_settings_from(
        {name: value for name, value in keywords.items() if name not in _OF_READING}
    )


def agree_with(
    data: Dataset,
    settings: AgreeSettings,
    *,
    reference: str | Dataset | None = None,
    count_all: CountAll | None = None,
    with_chance: bool = True,
    read_shapes: ReadShapes | None = None,
    progress: Progress | None = None,
) -> AgreementResult:
    """Measure how far annotators agree, with checked settings; see `agree`.

    Without `with_chance`, existence is not corrected for chance. `read_shapes` returns the data
    with all shapes, for a diagnosis that compares them as well.

    `count_all` counts agreement in the images, for instance on other machines; by default
    `count_sequentially` does so within the memory.
    """
    data = with_sigmas(with_points(data, settings), settings)
    measure = partial(
        _agree,
        settings=settings,
        count_all=count_all,
        with_chance=with_chance,
        read_shapes=read_shapes,
        progress=progress,
    )
    if reference is not None:
        from bboxqa.pipelines.reference import compared, reference_matches, with_reference

        if isinstance(reference, Dataset):
            reference = with_points(reference, settings)
        found = compared(data, reference)
        both = with_sigmas(found.both, settings, of=data)
        matches = reference_matches(both, settings, progress=progress)
        result = measure(found.team)
        return with_reference(result, found, matches)
    return measure(data)


def _agree(
    data: Dataset,
    *,
    settings: AgreeSettings,
    count_all: CountAll | None,
    with_chance: bool,
    read_shapes: ReadShapes | None,
    progress: Progress | None,
) -> AgreementResult:
    check_number(data)
    part = compared_images(data)
    check_matcher(part.data.annotations, settings.matcher)
    # With three annotators in an image, the result depends on the order in which they are joined.
    # Greedy matching has no such order.
    n_annotators = data.assigned.sum(1)
    greedy = bool((n_annotators > 2).any()) and matchers.matcher(settings.matcher).by_order
    count = partial(count_sequentially) if count_all is None else count_all
    counted = count(part, settings, greedy=greedy, progress=progress)
    if with_chance:
        chance = chance_existence(part, settings, progress=progress)
    else:
        chance = not_measured(part, settings)
    results = threshold_results(part, settings, counted, chance, progress)
    results = with_all_asked(results, figures_if_all_asked(data, counted, settings))
    thresholds = with_repeats(results, data, settings, progress=progress)
    n_images = int((n_annotators >= 2).sum())
    return AgreementResult(
        thresholds=thresholds,
        n_images=n_images,
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
            *all_asked_notes(data, thresholds),
            *data.notes,
            *crowd_notes(data, _crowd_images(data, part)),
            *image_notes(part.data, settings, counted.counts, thresholds),
            *repeat_notes(thresholds[0]),
            *chance_notes(chance, n_images, thresholds[0].existence.chance),
            *pair_note(part.paired),
        ),
        headlines=data.headlines,
        diagnoser=ImageDiagnoser(part, progress, read_shapes=read_shapes),
    )


def _crowd_images(data: Dataset, part: ImagePart) -> int:
    """Return the number of images with crowd annotations only, which have no alpha."""
    n_images = len(data.image_names)
    before, after = (
        np.bincount(each.annotations.image, minlength=n_images) for each in (data, part.data)
    )
    return int(((before > 0) & (after == 0) & (data.assigned.sum(1) >= 2)).sum())
