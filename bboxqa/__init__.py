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
    from bboxqa import stats as stats
    from bboxqa.core.errors import BboxqaError as BboxqaError
    from bboxqa.core.errors import ConfigError as ConfigError
    from bboxqa.core.errors import DatasetError as DatasetError
    from bboxqa.core.errors import OutputError as OutputError
    from bboxqa.core.version import __version__ as __version__
    from bboxqa.formats.choices import reading as reading
    from bboxqa.model.annotations import Dataset as Dataset
    from bboxqa.model.comparison import ComparisonResult as ComparisonResult
    from bboxqa.model.consensus import ConsensusResult as ConsensusResult
    from bboxqa.model.diagnosis import Diagnosis as Diagnosis
    from bboxqa.model.diagnosis import Story as Story
    from bboxqa.model.findings import Finding as Finding
    from bboxqa.model.settings import AgreeSettings as AgreeSettings
    from bboxqa.model.settings import ValidateSettings as ValidateSettings
    from bboxqa.pipelines.accept import Acceptance as Acceptance
    from bboxqa.pipelines.accept import accept as accept
    from bboxqa.pipelines.agree import AgreementResult as AgreementResult
    from bboxqa.pipelines.agree import agree as agree
    from bboxqa.pipelines.audit import audit as audit
    from bboxqa.pipelines.compare import compare as compare
    from bboxqa.pipelines.consensus import consensus as consensus
    from bboxqa.pipelines.convert import Conversion as Conversion
    from bboxqa.pipelines.convert import convert as convert
    from bboxqa.pipelines.draw import draw as draw
    from bboxqa.pipelines.plan import ImagePlan as ImagePlan
    from bboxqa.pipelines.plan import plan as plan
    from bboxqa.pipelines.read import read as read
    from bboxqa.pipelines.read import read_coco as read_coco
    from bboxqa.pipelines.simulate import Simulation as Simulation
    from bboxqa.pipelines.simulate import simulate as simulate
    from bboxqa.pipelines.validate import validate as validate
    from bboxqa.report.audit import AuditResult as AuditResult
    from bboxqa.report.drawing import Drawing as Drawing
    from bboxqa.report.findings import Report as Report

# The modules of public names, which are loaded when they are used.
_HOME = {
    "BboxqaError": "core.errors", "ConfigError": "core.errors", "DatasetError": "core.errors",
    "OutputError": "core.errors", "__version__": "core.version", "reading": "formats.choices",
    "Dataset": "model.annotations", "ComparisonResult": "model.comparison",
    "ConsensusResult": "model.consensus", "Diagnosis": "model.diagnosis",
    "Story": "model.diagnosis", "Finding": "model.findings", "AgreeSettings": "model.settings",
    "ValidateSettings": "model.settings", "Acceptance": "pipelines.accept",
    "accept": "pipelines.accept", "agree": "pipelines.agree",
    "AgreementResult": "pipelines.agree", "audit": "pipelines.audit",
    "compare": "pipelines.compare", "consensus": "pipelines.consensus",
    "Conversion": "pipelines.convert", "convert": "pipelines.convert", "draw": "pipelines.draw",
    "ImagePlan": "pipelines.plan", "plan": "pipelines.plan", "read": "pipelines.read",
    "read_coco": "pipelines.read", "Simulation": "pipelines.simulate",
    "simulate": "pipelines.simulate", "validate": "pipelines.validate",
    "AuditResult": "report.audit", "Drawing": "report.drawing", "Report": "report.findings",
}  # fmt: skip
__all__ = [*_HOME, "stats"]  # noqa: PLE0604 - strings of the table


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    from importlib import import_module
    from inspect import isfunction

    from bboxqa.core.errors import in_python_words

    if name == "stats":
        return import_module("bboxqa.stats")
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        # With both, Python asks "Did you mean …?"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    value = getattr(import_module(f"bboxqa.{_HOME[name]}"), name)
    if isfunction(value):
        value = in_python_words(value)
        # Where pickle looks for it.
        value.__module__ = __name__
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
