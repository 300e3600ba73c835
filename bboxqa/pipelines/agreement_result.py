"""The result that `bboxqa.agree` returns: figures of agreement, with their charts."""

from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from bboxqa.model.diagnosis import Diagnosis
from bboxqa.model.results import MeasuredAgreement
from bboxqa.model.table import Table, html_table

if TYPE_CHECKING:
    from bboxqa.report.charts.plots import Plots


class AgreementResult(MeasuredAgreement):
    """Agreement at one or more thresholds, with charts.

    Its attributes are those of :class:`bboxqa.model.results.MeasuredAgreement`.
    """

    @cached_property
    def plot(self) -> "Plots":
        """The charts of the result: ``result.plot.intervals()`` returns matplotlib axes.

        The names are intervals, category_intervals, sensitivity, pair_matrix, confusion_matrix,
        offsets, decomposition and image_costs.
        """
        from bboxqa.report.charts.plots import Plots

        return Plots(self)

    def diagnose(self) -> Diagnosis:
        """Return the story, the tables on which it is based, and the objects to review first.

        The diagnosis is computed once.

        Examples
        --------
        >>> import bboxqa
        >>> from bboxqa.examples import example_file
        >>> found = bboxqa.agree(bboxqa.read_coco(example_file("fruits"))).diagnose()
        >>> found.tables["annotators"]["class_share"].round(2)
        array([0.67, 0.67, 0.33])
        >>> found.review["reason"][0]
        'Banana by Ann1 and Ann2, Apple by Ann3'
        """
        return self._diagnosis

    @cached_property
    def _diagnosis(self) -> Diagnosis:
        return super().diagnose()

    def _repr_html_(self) -> str:
        from bboxqa.report.agreement_summary import summary
        from bboxqa.report.agreement_text import MISSING
        from bboxqa.report.charts.charts import intervals
        from bboxqa.report.charts.svg import chart_image

        parts = self.thresholds
        gates = {"min_alpha": self.settings.min_alpha, "min_f1": self.settings.min_f1}
        columns = {
            parts[0].measure: np.array([t.iou_threshold for t in parts]),
            "alpha": np.array([t.alpha for t in parts]),
            "low": np.array([t.interval[0] for t in parts]),
            "high": np.array([t.interval[1] for t in parts]),
            "mean over images": np.array([t.mean_image_alpha for t in parts]),
            "F1": np.array([t.existence.f1 for t in parts]),
            "class alpha": np.array([t.class_agreement.alpha for t in parts]),
            "same class": np.array([t.class_agreement.share for t in parts]),
            f"mean {parts[0].measure}": np.array([t.place.mean_iou for t in parts]),
            "units": np.array([t.n_units for t in parts]),
            "status": np.array([t.status for t in parts]),
        }
        head = (
            f"{self.n_images:,} images · {self.n_annotators} annotators · "
            f"{self.n_annotations:,} annotations · similarity {self.settings.similarity} · "
            f"matcher {self.settings.matcher} · missing {MISSING[self.settings.missing]}"
        )
        chart = intervals(summary(self)["thresholds"][0], measure=parts[0].measure, **gates)
        picture = chart_image(chart, "Agreement with its 95 % intervals")
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        table = html_table(Table(columns), 50)
        return f"<p>{escape(head)}</p>{picture}{table}<ul>{notes}</ul>"
