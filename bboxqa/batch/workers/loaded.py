"""Modules that are loaded before processes that run projects are forked.

Importing them in each process would take longer than running a small project.
"""

import scipy.special  # noqa: F401
import shapely  # noqa: F401

import bboxqa.batch.workers.transport  # noqa: F401
