"""From results to an answer: what may be concluded from them."""
