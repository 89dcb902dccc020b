"""Networks of transformers: loading, tokens, log-probabilities, vectors."""
