"""The exceptions of unmask.

    UnmaskError              anything a user can fix; the command line prints it, exit status 2
    ├── NameUnknown          a model, measure, data set or column that does not exist
    ├── DataError            a file that is missing, empty, or not of the expected form
    ├── ModelError           a model that cannot be loaded or gives no numbers
    └── NotApplicable        a measure that does not fit the model or the data

Each message is one sentence that says what was given, what is allowed and what to do.
"""


class UnmaskError(Exception):
    """Anything the user can fix."""


class NameUnknown(UnmaskError):
    """A name that is not in its registry."""


class DataError(UnmaskError):
    """Data that are missing, empty or not of the expected form."""


class ModelError(UnmaskError):
    """A model that cannot be loaded or that gives no numbers."""


class NotApplicable(UnmaskError):
    """A measure that does not fit the model or the data."""


class UnmaskWarning(UserWarning):
    """A warning of our own: one sentence for the user."""
