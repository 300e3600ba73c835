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
from bboxqa.report.verdict import shown_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plots:
    """The charts of a result, at its first threshold.

    Each method draws on the given matplotlib axes, or on those of a new ``pyplot`` figure, which
    notebooks show automatically, and returns the axes.

    All but `intervals` and `category_intervals` need the diagnosis of the result, which is computed
    by the first of them. An annotator who is not there, and an unknown figure, raise ConfigError.

    Examples
    --------
    >>> import bboxqa
    >>> from matplotlib.figure import Figure
    >>> from bboxqa.examples import example_file
    >>> result = bboxqa.agree(bboxqa.read(example_file("fruits")))
    >>> ax = result.plot.category_intervals(Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['Apple (6)', 'Banana (3)']
    """

    def __init__(self, result: MeasuredAgreement) -> None:
        self._result = result

    def intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, existence, class and place with their 95 % intervals, and the gates."""
        settings, measure = self._result.settings, self._result.thresholds[0].measure
        figures = shown_figures(self._threshold, measure, self._result.n_annotators)
        gates = {"min_alpha": settings.min_alpha, "min_f1": settings.min_f1}
        return draw_chart(charts.intervals(figures, **gates), ax)

    def category_intervals(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha of each category, or F1 where none has an alpha; the 30 lowest, in order."""
        return draw_chart(charts.category_intervals(self._threshold["categories"]), ax)

    def sensitivity(self, ax: "Axes | None" = None) -> "Axes":
        """Draw alpha, F1 and class alpha by threshold, with 95 % bands and the chosen threshold."""
        chosen = self._threshold["iou_threshold"]
        return draw_chart(charts.sensitivity(self._rows("sensitivity"), chosen), ax)

    def pair_matrix(
        self, ax: "Axes | None" = None, *, figure: Literal["f1", "alpha"] = "f1"
    ) -> "Axes":
        """Draw the agreement of each pair of annotators, similar annotators side by side.

        The number below it counts the units of the pair. With more than 40 annotators, those with
        most units are drawn.
        """
        if figure not in ("f1", "alpha"):
            raise ConfigError(f"figure {unknown_name(figure, ('f1', 'alpha'))}")
        order = [row["annotator"] for row in self._rows("agreement_matrix")]
        return draw_chart(charts.pair_matrix(order, self._threshold["pairs"], figure), ax)

    def confusion_matrix(self, annotator: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the confusion matrix of one annotator, or of all, with the others.

        "no box" stands for a missing annotation. With more than 20 categories, the most confused
        ones are drawn.
        """
        if annotator is not None:
            self._others_of(annotator)
        return draw_chart(charts.confusion_matrix(self._rows("confusion_matrix"), annotator), ax)

    def offsets(self, annotator: str, ax: "Axes | None" = None) -> "Axes":
        """Draw a box with its edges where an annotator draws them on average.

        Offsets are magnified by the factor in the legend. Only systematic ones are drawn, and those
        without an interval, in grey. Rotated boxes and key points, whose offsets are in a table of
        the diagnosis, raise ConfigError.
        """
        others = self._others_of(annotator)
        tables = self._result.diagnose().tables
        if "offsets" not in tables:
            other = next(each for each in ("rotated_offsets", "joint_annotators") if each in tables)
            raise ConfigError(f"only upright boxes have edges; the table {other} has offsets")
        own = [row for row in self._rows("offsets") if row["annotator"] == annotator]
        return draw_chart(charts.offsets(own, others=others), ax)

    def decomposition(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of objects of each kind of disagreement, with its 95 % interval."""
        return draw_chart(charts.decomposition(self._rows("decomposition")), ax)

    def image_costs(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the rise of alpha, or of F1 without alpha, without each of the 30 worst images."""
        worst = self._result.diagnose().worst_images
        figure = "F1" if self._threshold["alpha"] is None else "alpha"
        return draw_chart(charts.image_costs(worst["images"], worst["n_images"], figure), ax)

    @cached_property
    def _threshold(self) -> dict[str, Any]:
        found: dict[str, Any] = summary(self._result)["thresholds"][0]
        return found

    def _rows(self, table: str) -> list[dict[str, Any]]:
        return self._result.diagnose().tables[table].records()

    def _others_of(self, annotator: str) -> str:
        names: list[str] = self._result.diagnose().tables["annotators"]["annotator"].tolist()
        if annotator not in names:
            raise ConfigError(f"annotator {unknown_name(annotator, names)}")
        return others_of(annotator, names)
