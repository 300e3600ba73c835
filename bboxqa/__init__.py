"""Quality of image annotations: how far annotators agree, and how sure that is.

>>> import bboxqa
>>> from bboxqa.examples import example_file
>>> result = bboxqa.agree(example_file("fruits"), iou_threshold=0.5)
>>> round(result.alpha, 4)
0.0222
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bboxqa import stats
    from bboxqa.core.errors import BboxqaError, ConfigError, DatasetError, OutputError
    from bboxqa.core.version import __version__
    from bboxqa.formats.choices import reading
    from bboxqa.model.annotations import Dataset
    from bboxqa.model.comparison import ComparisonResult
    from bboxqa.model.consensus import ConsensusResult
    from bboxqa.model.diagnosis import Diagnosis, Story
    from bboxqa.model.findings import Finding
    from bboxqa.model.settings import AgreeSettings, ValidateSettings
    from bboxqa.pipelines.accept import Acceptance, accept
    from bboxqa.pipelines.agree import agree
    from bboxqa.pipelines.agreement_result import AgreementResult
    from bboxqa.pipelines.audit import audit
    from bboxqa.pipelines.compare import compare
    from bboxqa.pipelines.consensus import consensus
    from bboxqa.pipelines.convert import Conversion, convert
    from bboxqa.pipelines.draw import draw
    from bboxqa.pipelines.plan import ImagePlan, plan
    from bboxqa.pipelines.read import read, read_coco
    from bboxqa.pipelines.simulate import Simulation, simulate
    from bboxqa.pipelines.validate import validate
    from bboxqa.report.audit import AuditResult
    from bboxqa.report.drawing import Drawing
    from bboxqa.report.findings import Report

__all__ = [
    "Acceptance",
    "AgreeSettings",
    "AgreementResult",
    "AuditResult",
    "BboxqaError",
    "ComparisonResult",
    "ConfigError",
    "ConsensusResult",
    "Conversion",
    "Dataset",
    "DatasetError",
    "Diagnosis",
    "Drawing",
    "Finding",
    "ImagePlan",
    "OutputError",
    "Report",
    "Simulation",
    "Story",
    "ValidateSettings",
    "__version__",
    "accept",
    "agree",
    "audit",
    "compare",
    "consensus",
    "convert",
    "draw",
    "plan",
    "read",
    "read_coco",
    "reading",
    "simulate",
    "stats",
    "validate",
]

_HOME = {
    "Acceptance": "bboxqa.pipelines.accept",
    "AgreeSettings": "bboxqa.model.settings",
    "AgreementResult": "bboxqa.pipelines.agreement_result",
    "AuditResult": "bboxqa.report.audit",
    "BboxqaError": "bboxqa.core.errors",
    "ComparisonResult": "bboxqa.model.comparison",
    "ConfigError": "bboxqa.core.errors",
    "ConsensusResult": "bboxqa.model.consensus",
    "Conversion": "bboxqa.pipelines.convert",
    "Dataset": "bboxqa.model.annotations",
    "DatasetError": "bboxqa.core.errors",
    "Diagnosis": "bboxqa.model.diagnosis",
    "Drawing": "bboxqa.report.drawing",
    "Finding": "bboxqa.model.findings",
    "ImagePlan": "bboxqa.pipelines.plan",
    "OutputError": "bboxqa.core.errors",
    "Report": "bboxqa.report.findings",
    "Simulation": "bboxqa.pipelines.simulate",
    "Story": "bboxqa.model.diagnosis",
    "ValidateSettings": "bboxqa.model.settings",
    "__version__": "bboxqa.core.version",
    "accept": "bboxqa.pipelines.accept",
    "agree": "bboxqa.pipelines.agree",
    "audit": "bboxqa.pipelines.audit",
    "compare": "bboxqa.pipelines.compare",
    "consensus": "bboxqa.pipelines.consensus",
    "convert": "bboxqa.pipelines.convert",
    "draw": "bboxqa.pipelines.draw",
    "plan": "bboxqa.pipelines.plan",
    "read": "bboxqa.pipelines.read",
    "read_coco": "bboxqa.pipelines.read",
    "reading": "bboxqa.formats.choices",
    "simulate": "bboxqa.pipelines.simulate",
    "validate": "bboxqa.pipelines.validate",
}
_MODULES = ("stats",)


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    from importlib import import_module
    from inspect import isfunction

    from bboxqa.core.python_words import in_python_words

    if name in _MODULES:
        return import_module(f"bboxqa.{name}")
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        # With both, Python asks "Did you mean …?"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    value = getattr(import_module(_HOME[name]), name)
    if isfunction(value):
        value = in_python_words(value)
        # Where pickle looks for it.
        value.__module__ = __name__
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
