"""A sample of the fuzzer; the whole is `make fuzz`."""

from fuzz import fuzz


def test_damaged_inputs_are_read_or_refused_in_one_sentence():
    tally, failures = fuzz(220, seed=11)
    assert not failures, failures[0]
    assert sum(tally.values()) == 220
    assert any(k.endswith("refused") for k in tally)
