"""The measures, as tables: plans and rows. Nothing here needs torch."""

from unmask.measures.association import Association as Association
from unmask.measures.association_rows import ASSOCIATION as ASSOCIATION
from unmask.measures.likelihood import Likelihood as Likelihood
from unmask.measures.likelihood_rows import LIKELIHOOD as LIKELIHOOD
from unmask.measures.table import MEASURES as MEASURES
from unmask.measures.table import SUITE as SUITE
from unmask.measures.table import SUITES as SUITES
from unmask.measures.table import Measure as Measure
from unmask.measures.table import check_own_name as check_own_name
from unmask.measures.table import find as find
