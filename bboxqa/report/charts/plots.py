"""The charts of a result, by name."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.model.results import MeasuredAgreement
from bboxqa.report.agreement_summary import summary
from bboxqa.report.charts import charts
from bboxqa.report.charts.axes import draw_chart
from bboxqa.report.numbers import others_of

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
        measure = self._result.thresholds[0].measure
        gates = {"min_alpha": settings.min_alpha, "min_f1": settings.min_f1}
        return draw_chart(charts.intervals(self._threshold, measure=measure, **gates), ax)

    def category_intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha of each category with its 95 % interval, the lowest first.

        At most 30 categories are drawn. Where none has an alpha, F1 is drawn.
        """
        return draw_chart(charts.category_intervals(self._threshold["categories"]), ax)

    def sensitivity(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, F1 and class alpha by threshold, with 95 % bands and the chosen threshold."""
        chosen = self._threshold["iou_threshold"]
        return draw_chart(charts.sensitivity(self._rows("sensitivity"), chosen), ax)

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
        return draw_chart(charts.pair_matrix(order, self._threshold["pairs"], figure), ax)

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
        rows, copies = self._rows("confusion_matrix"), self._rows("copies")
        return draw_chart(charts.confusion_matrix(rows, annotator, copies=copies), ax)

    def offsets(self, annotator: str, ax: "Axes | None" = None) -> "Axes":
        """Draw a box with its edges where an annotator draws them on average.

        Arrows are magnified by the factor in the legend. Only systematic offsets have arrows, and
        those without an interval, in grey.

        Parameters
        ----------
        annotator : str
        ax : matplotlib.axes.Axes, optional

        Raises
        ------
        ConfigError
            If there is no such annotator, or rotated boxes or key points are compared, whose
            offsets are in a table of the diagnosis.
        """
        self._check_annotator(annotator)
        tables = self._result.diagnose().tables
        if "offsets" not in tables:
            other = next(each for each in ("rotated_offsets", "joint_annotators") if each in tables)
            raise ConfigError(f"only upright boxes have edges; the table {other} has offsets")
        own = [row for row in self._rows("offsets") if row["annotator"] == annotator]
        others = others_of(annotator, self._annotators())
        copies = self._rows("copies")
        return draw_chart(charts.offsets(own, copies=copies, others=others), ax)

    def decomposition(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of objects of each kind of disagreement, with its 95 % interval."""
        return draw_chart(charts.decomposition(self._rows("decomposition")), ax)

    def image_costs(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the rise of alpha, or of F1 if there is no alpha, without each image.

        The 30 images that cost most are drawn.
        """
        worst = self._result.diagnose().worst_images
        figure = "F1" if self._threshold["alpha"] is None else "alpha"
        return draw_chart(charts.image_costs(worst["images"], worst["n_images"], figure), ax)

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
        names = self._annotators()
        if name not in names:
            raise ConfigError(f"annotator {unknown_name(name, names)}")
