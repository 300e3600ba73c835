"""The charts of a result, by name."""

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.model.results import MeasuredAgreement
from bboxqa.report.agreement_summary import summary
from bboxqa.report.charts import (
    bar_charts,
    heat_maps,
    interval_charts,
    offset_chart,
    rotated_offset_chart,
)
from bboxqa.report.charts.figures import AxesMaker, new_axes, page_style, shown_axes
from bboxqa.report.charts.fonts import fonts_for
from bboxqa.report.charts.labels import others_of
from bboxqa.report.charts.sensitivity_chart import sensitivity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plots:
    """The charts of a result, at its first threshold.

    Each method draws on the given matplotlib axes, or on those of a new ``pyplot`` figure, which
    notebooks show automatically, and returns the axes.

    All but `intervals` and `category_intervals` need the diagnosis of the result, which is computed
    by the first of them.

    Examples
    --------
    >>> import bboxqa
    >>> from matplotlib.figure import Figure
    >>> from bboxqa.examples import example_file
    >>> result = bboxqa.agree(bboxqa.read_coco(example_file("fruits")))
    >>> ax = result.plot.category_intervals(Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['Apple (6)', 'Banana (3)']
    """

    def __init__(self, result: MeasuredAgreement) -> None:
        self._result = result

    def intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, existence, class and place with their 95 % intervals, and the gates.

        Examples
        --------
        >>> import bboxqa
        >>> from matplotlib.figure import Figure
        >>> from bboxqa.examples import example_file
        >>> result = bboxqa.agree(bboxqa.read_coco(example_file("fruits")))
        >>> result.plot.intervals(Figure().subplots()).texts[0].get_text()
        '0.02'
        """
        settings = self._result.settings
        return interval_charts.intervals(
            self._threshold,
            min_alpha=settings.min_alpha,
            min_f1=settings.min_f1,
            measure=self._result.thresholds[0].measure,
            axes=_maker(ax),
        )

    def category_intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha of each category with its 95 % interval, the lowest first.

        At most 30 categories are drawn. Where none has an alpha, F1 is drawn.
        """
        rows = self._threshold["categories"]
        return _with_fonts(
            [row["category"] for row in rows],
            lambda: interval_charts.category_intervals(rows, axes=_maker(ax)),
        )

    def sensitivity(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, F1 and class alpha by threshold, with 95 % bands and the chosen threshold."""
        return sensitivity(
            self._rows("sensitivity"), self._threshold["iou_threshold"], axes=_maker(ax)
        )

    def pair_matrix(
        self, ax: "Axes | None" = None, *, figure: Literal["f1", "alpha"] = "f1"
    ) -> "Axes":
        """Draw the agreement of each pair of annotators, similar annotators side by side.

        The number below it counts the units of the pair. Cells of annotators without a shared image
        are hatched. With more than 40 annotators, those with most units are drawn.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        figure : {"f1", "alpha"}

        Raises
        ------
        ConfigError
            If there is no such figure.
        """
        if figure not in ("f1", "alpha"):
            raise ConfigError(f"figure {unknown_name(figure, ('f1', 'alpha'))}")
        order = [row["annotator"] for row in self._rows("agreement_matrix")]
        pairs = self._threshold["pairs"]
        return _with_fonts(
            order, lambda: heat_maps.pair_matrix(order, pairs, figure, axes=_maker(ax))
        )

    def confusion_matrix(self, annotator: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the confusion matrix of annotators with the others.

        "no box" stands for a missing annotation. With more than 20 categories, the most confused
        ones are drawn.

        Parameters
        ----------
        annotator : str, optional
            By default all annotators together.
        ax : matplotlib.axes.Axes, optional

        Raises
        ------
        ConfigError
            If there is no such annotator.
        """
        if annotator is not None:
            self._check_annotator(annotator)
        rows = self._rows("confusion_matrix")
        names = {row[key] for row in rows for key in ("annotator", "category", "others")}
        return _with_fonts(
            names,
            lambda: heat_maps.confusion_matrix(
                rows, annotator, copies=self._rows("copies"), axes=_maker(ax)
            ),
        )

    def offsets(self, annotator: str, ax: "Axes | None" = None) -> "Axes":
        """Draw a box with its edges where an annotator draws them on average.

        Arrows are magnified by the factor in the legend. Only systematic offsets have arrows, and
        those without an interval, in grey. If rotated boxes are compared, a rotated box is drawn
        with the annotator's offsets of centre, sides and angle.

        Parameters
        ----------
        annotator : str
        ax : matplotlib.axes.Axes, optional

        Raises
        ------
        ConfigError
            If there is no such annotator.

        Examples
        --------
        >>> import bboxqa
        >>> from bboxqa.examples import example_file
        >>> result = bboxqa.agree(bboxqa.read_coco(example_file("fruits")))
        >>> result.plot.offsets("Ann4")
        Traceback (most recent call last):
            ...
        bboxqa.core.errors.ConfigError: annotator is 'Ann4'; expected one of Ann1, Ann2, Ann3; \
did you mean 'Ann3'?
        """
        self._check_annotator(annotator)
        tables = self._result.diagnose().tables
        is_rotated = "rotated_offsets" in tables
        if not is_rotated and "offsets" not in tables:
            raise ConfigError("key points have no edges; the table joint_annotators has offsets")
        draw = rotated_offset_chart.rotated_offsets if is_rotated else offset_chart.offsets
        rows = self._rows("rotated_offsets" if is_rotated else "offsets")
        rows = [row for row in rows if row["annotator"] == annotator]
        copies = self._rows("copies")
        others = others_of(annotator, self._annotators())
        return _with_fonts(
            [annotator, others], lambda: draw(rows, copies=copies, others=others, axes=_maker(ax))
        )

    def decomposition(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of objects of each kind of disagreement, with its 95 % interval."""
        return bar_charts.decomposition(self._rows("decomposition"), axes=_maker(ax))

    def image_costs(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the rise of alpha, or of F1 if there is no alpha, without each image.

        The 30 images that cost most are drawn.
        """
        worst = self._result.diagnose().worst_images
        figure = "F1" if self._threshold["alpha"] is None else "alpha"
        return _with_fonts(
            [row["file_name"] for row in worst["images"]],
            lambda: bar_charts.image_costs(
                worst["images"], worst["n_images"], figure, axes=_maker(ax)
            ),
        )

    @cached_property
    def _threshold(self) -> dict[str, Any]:
        found: dict[str, Any] = summary(self._result)["thresholds"][0]
        return found

    def _rows(self, table: str) -> list[dict[str, Any]]:
        return self._result.diagnose().tables[table].records()

    def _annotators(self) -> list[str]:
        names: list[str] = self._result.diagnose().tables["annotators"]["annotator"].tolist()
        return names

    def _check_annotator(self, name: str) -> None:
        """Raise ConfigError if no annotator has the name."""
        names = self._annotators()
        if name not in names:
            raise ConfigError(f"annotator {unknown_name(name, names)}")


def _with_fonts(texts: Iterable[str], chart: "Callable[[], Axes]") -> "Axes":
    """Return the axes of a chart drawn with fonts that have the characters of `texts`."""
    import matplotlib as mpl
    from matplotlib.text import Text

    with page_style(), fonts_for(texts):
        ax = chart()
        families = mpl.rcParams["font.family"]
        if len(families) > 1:
            # Existing labels of the user's axes keep their fonts.
            for text in ax.findobj(Text):
                text.set_fontfamily(families)
    return ax


def _maker(ax: "Axes | None") -> AxesMaker:
    """Return a function that makes the axes of a chart: those given, or new ones."""
    return shown_axes if ax is None else partial(new_axes, ax=ax)
