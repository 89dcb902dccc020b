"""From specs to results: one loop for likelihoods, one for associations."""
