"""The former name of `unmask.studies.sample_size`; it goes with 0.3."""

import warnings

from unmask.studies.sample_size import needs as needs

warnings.warn(
    "unmask.studies.plan is now unmask.studies.sample_size; the old name works until 0.3.",
    DeprecationWarning,
    stacklevel=2,
)
