"""Design choices: every reasonable specification of one question."""
