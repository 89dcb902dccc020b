"""Measure social bias in language models, and say how far each number can be trusted."""

from unmask.errors import DataError as DataError
from unmask.errors import ModelError as ModelError
from unmask.errors import NameUnknown as NameUnknown
from unmask.errors import NotApplicable as NotApplicable
from unmask.errors import UnmaskError as UnmaskError
from unmask.evaluate import evaluate as evaluate
from unmask.evaluate import run as run
from unmask.measures import LIKELIHOOD as LIKELIHOOD
from unmask.measures import Likelihood as Likelihood
from unmask.results import load as load
from unmask.results import save as save
from unmask.results import table as table
from unmask.types import Contrast as Contrast
from unmask.types import Dataset as Dataset
from unmask.types import Estimate as Estimate
from unmask.types import Query as Query
from unmask.types import Result as Result
from unmask.types import Stimuli as Stimuli
from unmask.types import Text as Text

__version__ = "0.1.0"
__all__ = [
    "LIKELIHOOD",
    "Contrast",
    "DataError",
    "Dataset",
    "Estimate",
    "Likelihood",
    "ModelError",
    "NameUnknown",
    "NotApplicable",
    "Query",
    "Result",
    "Stimuli",
    "Text",
    "UnmaskError",
    "evaluate",
    "load",
    "run",
    "save",
    "table",
]
