"""CEAT and the sampled permutation test against plain loops, side by side in one run.

CEAT: N = 10,000 on 25 + 25 words by 25 + 25 attributes, 768 dimensions, 1000 contexts a word,
embeddings given. The plain loop calls a cosine for each pair of each sample; it is run on a few
samples and scaled. Permutation: 100,000 draws of 25 out of 50.
"""

import random
import resource
import sys
import time

import numpy as np

from recorded import record
from sizes import SMALL
from unmask.stats.ceat import ceat_samples, draw_indices, random_effects
from unmask.stats.permutation import sampled_moments


def cosine(u, v):
    return np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))


def plain_sample(x, y, a, b):
    def s(w):
        return np.mean([cosine(w, v) for v in a]) - np.mean([cosine(w, v) for v in b])

    sx, sy = [s(w) for w in x], [s(w) for w in y]
    spread = np.std(sx + sy, ddof=1)
    return (np.mean(sx) - np.mean(sy)) / spread, spread**2


def ceat(samples, contexts, sub):
    rng = np.random.default_rng(0)
    vectors = []
    for _ in range(4):
        words = [rng.standard_normal((contexts, 768), np.float32) for _ in range(25)]
        for w in words:
            w /= np.linalg.norm(w, axis=1, keepdims=True)
        vectors.append(words)
    draws = [draw_indices([contexts] * 25, samples, rng, True) for _ in range(4)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = ceat_samples(vectors, draws)
        random_effects(found)
        times.append(time.perf_counter() - start)
    fast = min(times)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    start = time.perf_counter()
    for i in range(sub):
        chosen = [[vectors[k][w][draws[k][i, w]] for w in range(25)] for k in range(4)]
        e, _ = plain_sample(*chosen)
        assert abs(e - found.effects[i]) < 1e-3, (e, found.effects[i])
    slow = (time.perf_counter() - start) / sub * samples
    facts = {"what": f"CEAT, N = {samples}", "plain loop, s": round(slow, 2)}
    facts |= {"unmask, s": round(fast, 3), "times": round(slow / fast)}
    record("ceat", facts | {"GiB beside the vectors": round(memory, 2)})


def permutation(draws, sub):
    scores = np.random.default_rng(1).normal(size=50)
    start = time.perf_counter()
    sampled_moments(scores, 25, draws, 0)
    fast = time.perf_counter() - start
    deck, observed, hits = list(scores), sum(scores[:25]), 0
    shuffle = random.Random(0).shuffle
    start = time.perf_counter()
    for _ in range(sub):
        shuffle(deck)
        hits += sum(deck[:25]) >= observed
    slow = (time.perf_counter() - start) / sub * draws
    facts = {"what": f"permutation, {draws} draws of 25 from 50", "plain loop, s": round(slow, 2)}
    record("ceat", facts | {"unmask, s": round(fast, 3), "times": round(slow / fast)})


if __name__ == "__main__":
    contexts = int(sys.argv[1]) if len(sys.argv) > 1 else 20 if SMALL else 1000
    ceat(100 if SMALL else 10_000, contexts, 5 if SMALL else 20)
    permutation(1_000 if SMALL else 100_000, 200 if SMALL else 20_000)
