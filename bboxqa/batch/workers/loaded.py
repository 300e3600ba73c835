"""What processes that run projects have loaded when they are forked.

Each would otherwise import the same libraries, which takes longer than to run a small project.
"""

import scipy.special  # noqa: F401
import shapely  # noqa: F401

import bboxqa.batch.workers.transport  # noqa: F401
