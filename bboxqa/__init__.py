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
    from bboxqa.pipelines.agree import agree as agree
    from bboxqa.pipelines.agreement_result import AgreementResult as AgreementResult
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

# The public names of modules, which are loaded when they are used.
_NAMES = {
    "bboxqa.core.errors": ("BboxqaError", "ConfigError", "DatasetError", "OutputError"),
    "bboxqa.core.version": ("__version__",),
    "bboxqa.formats.choices": ("reading",),
    "bboxqa.model.annotations": ("Dataset",),
    "bboxqa.model.comparison": ("ComparisonResult",),
    "bboxqa.model.consensus": ("ConsensusResult",),
    "bboxqa.model.diagnosis": ("Diagnosis", "Story"),
    "bboxqa.model.findings": ("Finding",),
    "bboxqa.model.settings": ("AgreeSettings", "ValidateSettings"),
    "bboxqa.pipelines.accept": ("Acceptance", "accept"),
    "bboxqa.pipelines.agree": ("agree",),
    "bboxqa.pipelines.agreement_result": ("AgreementResult",),
    "bboxqa.pipelines.audit": ("audit",),
    "bboxqa.pipelines.compare": ("compare",),
    "bboxqa.pipelines.consensus": ("consensus",),
    "bboxqa.pipelines.convert": ("Conversion", "convert"),
    "bboxqa.pipelines.draw": ("draw",),
    "bboxqa.pipelines.plan": ("ImagePlan", "plan"),
    "bboxqa.pipelines.read": ("read", "read_coco"),
    "bboxqa.pipelines.simulate": ("Simulation", "simulate"),
    "bboxqa.pipelines.validate": ("validate",),
    "bboxqa.report.audit": ("AuditResult",),
    "bboxqa.report.drawing": ("Drawing",),
    "bboxqa.report.findings": ("Report",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = ("stats",)
__all__ = [*_HOME, *_MODULES]  # noqa: PLE0604 - strings of the table


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    from importlib import import_module
    from inspect import isfunction

    from bboxqa.core.errors import in_python_words

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
