"""The values of a measured project in its row."""

from collections.abc import Mapping, Sequence
from typing import Any

from bboxqa.batch.rows import missed_gates
from bboxqa.model.settings import AgreeSettings
from bboxqa.report.agreement_result import AgreementResult


def row_values(
    result: AgreementResult,
    values: Mapping[str, Any],
    agree: AgreeSettings,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return the values of a measured project in its row, from its result and the summary."""
    first = values["thresholds"][0]
    missed = missed_gates(result.thresholds[0], agree)
    status = first["status"]
    low, high = first["interval"] or (None, None)
    return {
        "n_images": values["n_images"],
        "n_annotators": values["n_annotators"],
        "n_annotations": values["n_annotations"],
        "alpha": first["alpha"],
        "low": low,
        "high": high,
        "mean_image_alpha": first["mean_image_alpha"],
        **_object_figures(first),
        "measure": result.thresholds[0].measure,
        "passed": not missed,
        "message": "; ".join(
            [*missed, *result.headlines, *([] if status == "ok" else [status]), *warnings]
        ),
    }


def _object_figures(threshold: dict[str, Any]) -> dict[str, Any]:
    """Return existence, class and place as values of a row."""
    existence, classes = threshold["existence"], threshold["class"]
    low, high = existence["interval"] or (None, None)
    return {
        "f1": existence["f1"],
        "f1_low": low,
        "f1_high": high,
        "class_alpha": classes["alpha"],
        "class_share": classes["share"],
        "mean_iou": threshold["place"]["mean_iou"],
        "below_threshold": threshold["place"]["below_threshold"]["value"],
    }
