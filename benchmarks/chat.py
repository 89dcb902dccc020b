"""What a choice costs: a 7B-shaped causal model on CrowS-Pairs, in a chat template.

    python benchmarks/chat.py [family=llama-7b] [dtype=bfloat16]

Both orders in three wordings (9,048 requests), beside the plain likelihood of the 3,016 sentences a
batch at a time, and beside lm-evaluation-harness' `hf` backend on the requests of its crows_pairs.
"""

import sys
import time
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import torch

from families import network
from recorded import record
from sizes import SMALL  # noqa: F401  takes --small from the command
from unmask.data import catalogue
from unmask.flow import choices
from unmask.flow.evaluate import evaluate
from unmask.options import Options, Spec

TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}\n{% endfor %}<|assistant|>\n"
BATCH = 64


def plain(model, data):
    """Sum of log p of each sentence, a padded batch at a time: seconds and scores."""
    texts = [t.string for i in data.items for t in i.texts.values()]
    rows = [model.codec.encode(t).ids for t in texts]
    order = sorted(range(len(rows)), key=lambda k: -len(rows[k]))
    out = np.zeros(len(rows))
    begun = time.perf_counter()
    with torch.inference_mode():
        for start in range(0, len(rows), BATCH):
            some = [rows[k] for k in order[start : start + BATCH]]
            width = max(map(len, some))
            ids = torch.tensor([[*r, *[0] * (width - len(r))] for r in some]).cuda()
            seen = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in some]).cuda()
            logits = model.net(ids, attention_mask=seen).logits[:, :-1].float()
            logp = torch.log_softmax(logits, -1).gather(2, ids[:, 1:, None])[..., 0]
            total = (logp * seen[:, 1:]).sum(1).tolist()
            for k, value in zip(order[start : start + BATCH], total, strict=True):
                out[k] = value
    torch.cuda.synchronize()
    return time.perf_counter() - begun, out


def harness(model, texts):
    """The same sentences by lm-evaluation-harness, in batches of 64: seconds and scores."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    tokenizer = model.codec.tokenizer
    peer = HFLM(pretrained=model.net, tokenizer=tokenizer, batch_size=BATCH, max_length=512)
    asked = [
        Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=k)
        for k, text in enumerate(texts)
    ]
    peer.loglikelihood(asked[:BATCH], disable_tqdm=True)
    begun = time.perf_counter()
    out = [value for value, _ in peer.loglikelihood(asked, disable_tqdm=True)]
    torch.cuda.synchronize()
    return time.perf_counter() - begun, np.array(out)


def main(family="llama-7b", dtype="bfloat16"):
    if not torch.cuda.is_available():
        print("skipped: it needs a GPU")
        return
    choices.LEAST_MASS = 0.0  # a random network gives letters no probability
    model = network(family, dtype, "cuda")
    model.codec.tokenizer.chat_template = TEMPLATE
    (data,) = catalogue.resolve("crows-pairs")
    few = catalogue.limited(data, 40)
    seconds = {}
    for name in ("choice", "ll"):
        evaluate([Spec(model, name, few)], Options(recheck=False))  # warm
        begun = time.perf_counter()
        found = evaluate([Spec(model, name, data)], Options(recheck=False))
        seconds[name] = time.perf_counter() - begun
    _ = plain(model, few)
    seconds["plain loop"], scores = plain(model, data)
    if find_spec("lm_eval"):
        texts = [t.string for i in data.items for t in i.texts.values()]
        seconds["lm-eval"], peers = harness(model, texts)
        print(f"lm-eval differs by {np.abs(peers - scores).max():.3f} from the loop")
    own = found[0].items.score.to_numpy(float)
    facts = {"family": family, "dtype": dtype} | {k: f"{v:.1f} s" for k, v in seconds.items()}
    facts["choice, times the plain loop"] = f"{seconds['choice'] / seconds['plain loop']:.2f}"
    if "lm-eval" in seconds:
        facts["choice, times lm-eval"] = f"{seconds['choice'] / seconds['lm-eval']:.2f}"
        facts["lm-eval, times ll"] = f"{seconds['lm-eval'] / seconds['ll']:.2f}"
    facts["ll, largest difference"] = f"{np.nanmax(np.abs(own - scores)):.3f}"
    record("chat", facts)
    slow = replace(model, fast=False)
    one, two = (
        evaluate([Spec(m, "choice", few)], Options(recheck=False))[0].items.score
        for m in (model, slow)
    )
    record("chat", {"family": family, "fast = plain within": f"{np.abs(one - two).max():.4f}"})


if __name__ == "__main__":
    main(**dict(a.split("=") for a in sys.argv[1:]))
