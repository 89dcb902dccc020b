"""The measures, as tables: plans and rows. Nothing here needs torch."""

from unmask.measures.likelihood import LIKELIHOOD as LIKELIHOOD
from unmask.measures.likelihood import Likelihood as Likelihood
