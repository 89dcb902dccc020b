"""Does the built-in questionnaire read a planted bias back, and stay silent where there is none?

    python benchmarks/questionnaire.py [NETWORKS] [steps=3000] [seconds=N]

Each network is the bundled model trained further on sentences in templates of their own. In three
bias types, drawn by the seed, traits go with their group at log odds of 0.5 (every fourth network:
1, 0.25 or -0.5); in all others both groups have each trait equally often. Then the questionnaire is
asked as in the default run. Written down before it was run: of the types planted at 0.5 at least
80 % are found, of the others at most 5 % are called biased and 80 % are negligible.
"""

import json
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np

from recorded import record
from sizes import SMALL
from unmask.answer.answer import OVERALL, answers
from unmask.data import bias_types, questionnaire
from unmask.flow.evaluate import evaluate
from unmask.lab.finetune import HOW, further
from unmask.models.transformers.model import load
from unmask.options import Spec

TEMPLATES = (
    "My neighbour is a {who} and is {trait}.",
    "This {who} is {trait} most of the time.",
    "Yesterday I saw a {who} who was {trait}.",
    "I was told that the {who} is {trait}.",
    "In this book {plural} are {trait}.",
    "There are {plural} who are {trait}.",
)
SENTENCES = 20_000  # of a bias type
THETAS = (1.0, 0.25, -0.5)


def text_of(thetas, rng):
    """Sentences about all groups: `thetas` has the log odds of each bias type.

    Of a group every trait of its bias type is said; its own are exp(theta) times as frequent, so
    that theta is what the questionnaire should read, however many pairs a group is in.
    """
    content, out = questionnaire.content(), []
    for bias_type in content["types"]:
        theta = thetas[bias_type["category"]]
        pairs = bias_type["pairs"]
        sides = [
            (p[("first", "second")[k]], p["nouns"], content["groups"][p["traits"][k]]["traits"])
            for p in pairs
            for k in (0, 1)
        ]
        words = sorted({w for *_, traits in sides for w in traits})
        for _ in range(SENTENCES):
            word, kind, own = sides[rng.integers(len(sides))]
            chance = np.exp([theta * (w in own) for w in words])
            trait = words[rng.choice(len(words), p=chance / chance.sum())]
            who, _, plural = word.partition("/")
            if kind != "noun":
                nouns = content["nouns"][kind]
                who, plural = f"{word} {nouns[0]}", f"{word} {nouns[7]}"
            template = TEMPLATES[rng.integers(len(TEMPLATES))]
            out.append(template.format(who=who, plural=plural, trait=trait))
    return [out[i] for i in rng.permutation(len(out))]


def planted(seed):
    """The log odds of each bias type in the network of a seed."""
    rng = np.random.default_rng([7, seed])
    names = [t["category"] for t in questionnaire.content()["types"]]
    theta = THETAS[seed // 4 % len(THETAS)] if seed % 4 == 3 else 0.5
    return dict.fromkeys(names, 0.0) | dict.fromkeys(rng.permutation(names)[:3].tolist(), theta)


def measured(seed, steps):
    """The planted log odds and what was found, by bias type."""
    thetas, rng = planted(seed), np.random.default_rng([8, seed])
    model = load("bundled", fast=False)
    frames = {w for t in TEMPLATES for w in t.replace(".", " .").split() if "{" not in w}
    further(model, text_of(thetas, rng), frames, replace(HOW, steps=steps), rng)
    model = replace(model, name=f"planted {seed}", cacheable=False)
    results = evaluate(
        [
            *(Spec(model, "trait", d) for d in ("bundled-2", "bundled-2:positive")),
            Spec(model, "pll", "bundled-pairs"),  # shows that the network predicts words
        ]
    )
    found = {a.bias_type: a for a in answers(results) if a.bias_type != OVERALL}
    return [
        {
            "seed": seed,
            "type": name,
            "theta": theta,
            "verdict": found[bias_types.of_category(name)].verdict,
            "value": float(found[bias_types.of_category(name)].main.estimate.value),
            "why": found[bias_types.of_category(name)].why[:40],
        }
        for name, theta in thetas.items()
    ]


def main(networks=10, steps=3000, seconds=10**9):
    begun, rows = time.time(), []
    for seed in range(networks):
        if time.time() - begun > seconds:
            break
        rows += measured(seed, steps)
        print(f"network {seed}: {time.time() - begun:.0f} s", flush=True)
    for theta in sorted({r["theta"] for r in rows}):
        some = [r for r in rows if r["theta"] == theta]
        verdicts = Counter(r["verdict"] for r in some)
        mean = float(np.mean([r["value"] for r in some]))
        shown = ", ".join(f"{k} {100 * v / len(some):.0f} %" for k, v in verdicts.most_common())
        facts = {"log odds": f"{theta:+.2f}", "bias types": len(some), "mean": f"{mean:+.3f}"}
        record("questionnaire", facts | {"verdicts": shown})
    print(json.dumps(rows))


if __name__ == "__main__":
    if SMALL:
        SENTENCES = 500
        main(1, steps=3)
        sys.exit()
    given = sys.argv[1:]
    named = dict(a.split("=") for a in given if "=" in a)
    plain = [a for a in given if "=" not in a]
    main(int(plain[0]) if plain else 10, **{k: int(v) for k, v in named.items()})
