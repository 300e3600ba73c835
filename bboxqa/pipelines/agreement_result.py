"""The result that `bboxqa.agree` returns: figures with their charts, files, page and sentences."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bboxqa.agreement.objects import ThresholdSums
from bboxqa.core.arrays import AnyPath, Progress
from bboxqa.core.errors import in_python_words
from bboxqa.model.diagnosis import Diagnosis, Story
from bboxqa.model.results import MeasuredAgreement
from bboxqa.pipelines.counting import ImagePart, too_crowded
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
        offsets, decomposition and image_costs.
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

        notes = (f" Note: {note}" for note in self.notes[len(self.headlines) :])
        compared = (
            f"{self.n_images:,} images, {self.n_annotators} annotators, "
            f"{self.n_annotations:,} annotations, similarity {self.settings.similarity}"
        )
        text = "\n".join((compared, *text_lines(self, quiet=True), *notes))
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
