"""Quality of image annotations: how far annotators agree, and how sure that is.

>>> import bboxqa
>>> from bboxqa.examples import example_file
>>> result = bboxqa.agree(bboxqa.read_coco(example_file("fruits")), iou_threshold=0.5)
>>> round(result.alpha, 4)
0.0222
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bboxqa import stats
    from bboxqa.config import AgreeSettings, ValidateSettings
    from bboxqa.errors import BboxqaError, ConfigError, DatasetError, OutputError
    from bboxqa.findings import Finding
    from bboxqa.io.coco import read_coco
    from bboxqa.model import Dataset
    from bboxqa.pipeline import agree
    from bboxqa.report.findings.report import Report
    from bboxqa.result import AgreementResult
    from bboxqa.validation import validate
    from bboxqa.version import __version__

__all__ = [
    "AgreeSettings",
    "AgreementResult",
    "BboxqaError",
    "ConfigError",
    "Dataset",
    "DatasetError",
    "Finding",
    "OutputError",
    "Report",
    "ValidateSettings",
    "__version__",
    "agree",
    "read_coco",
    "stats",
    "validate",
]

_HOME = {
    "AgreeSettings": "bboxqa.config",
    "AgreementResult": "bboxqa.result",
    "BboxqaError": "bboxqa.errors",
    "ConfigError": "bboxqa.errors",
    "Dataset": "bboxqa.model",
    "DatasetError": "bboxqa.errors",
    "Finding": "bboxqa.findings",
    "OutputError": "bboxqa.errors",
    "Report": "bboxqa.report.findings.report",
    "ValidateSettings": "bboxqa.config",
    "__version__": "bboxqa.version",
    "agree": "bboxqa.pipeline",
    "read_coco": "bboxqa.io.coco",
    "validate": "bboxqa.validation",
}
_MODULES = ("stats",)


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"bboxqa.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
