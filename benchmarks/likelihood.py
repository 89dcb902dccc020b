"""AUL, and CPS + SSS + AUL + AULA together, against the papers' way, side by side in one run.

The papers' way: one sentence a pass for AUL and AULA, one sentence's masked copies a pass for
CPS, the head at every place, each measure on its own. Networks: BERT-base size with random
weights, and the bundled model. Prints ratios, and the share of the machine's own matrix-product
rate that the useful operations reach.
"""

import difflib
import os
import sys
import time
from pathlib import Path

import torch
import transformers

from recorded import record
from sizes import SMALL
from unmask.data import catalogue
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan, run_likelihood
from unmask.measures import LIKELIHOOD
from unmask.models.transformers.model import load, wrap
from unmask.types import Dataset

FOUR = ["cps", "sss", "aul", "aula"]


def sentence_pairs(count):
    """CrowS-Pairs where UNMASK_DATA has it, else the package's own pairs."""
    if os.environ.get("UNMASK_DATA"):
        data = catalogue.sentences("crows-pairs")
    else:
        data = bundled_pairs()
    return Dataset(data.name, "pairs", data.items[:count])


@torch.no_grad()
def papers_aul(net, ids, attention):
    out = net(input_ids=torch.tensor([ids]), output_attentions=attention)
    logp = torch.log_softmax(out.logits[0], -1)
    found = logp[torch.arange(len(ids)), torch.tensor(ids)][1:-1]
    if attention:
        weights = torch.cat(out.attentions).mean(0).mean(0).mean(0)[1:-1]
        found = found * weights
    return found.mean().item()


@torch.no_grad()
def papers_masked(net, ids, places, mask, together):
    rows = torch.tensor([ids] * (1 if together else len(places)))
    for n, place in enumerate(places):
        rows[0 if together else n, place] = mask
    logp = torch.log_softmax(net(input_ids=rows).logits, -1)
    return sum(logp[0 if together else n, p, ids[p]].item() for n, p in enumerate(places))


def papers_way(net, tokenizer, data, names):
    for item in data.items:
        pro, anti = (
            tokenizer.encode(item.texts[k].string) for k in ("stereotype", "antistereotype")
        )
        for ids, other in ((pro, anti), (anti, pro)):
            same, changed = [], []
            matcher = difflib.SequenceMatcher(None, list(map(str, ids)), list(map(str, other)))
            for tag, a, b, _, _ in matcher.get_opcodes():
                (same if tag == "equal" else changed).extend(range(a, b))
            for name in names:
                if name in ("aul", "aula"):
                    net.set_attn_implementation("eager" if name == "aula" else "sdpa")
                    papers_aul(net, ids, name == "aula")
                elif name == "cps":
                    net.set_attn_implementation("sdpa")
                    papers_masked(net, ids, same[1:-1], tokenizer.mask_token_id, False)
                elif changed:
                    papers_masked(net, ids, changed, tokenizer.mask_token_id, True)


def ours(model, data, names):
    cache = {}
    planned = [plan.plan(model, LIKELIHOOD[n], data, cache) for n in names]
    run_likelihood.ask({"own": model.engine()}, planned)
    return planned


def useful_operations(model, planned):
    """Operations of the distinct rows without padding, and of the head at the asked places."""
    rows = {
        tuple(-1 if i in q.hidden else t for i, t in enumerate(q.row))
        for p in planned
        for q in p.queries
    }
    places = {(q.row, q.hidden, q.at) for p in planned for q in p.queries}
    c = model.net.config
    layer = 4 * c.hidden_size**2 + 2 * c.hidden_size * c.intermediate_size
    trunk = sum(
        2 * len(r) * c.num_hidden_layers * (layer + 2 * len(r) * c.hidden_size) for r in rows
    )
    return trunk + 2 * len(places) * c.hidden_size * (c.vocab_size + c.hidden_size)


def matrix_rate():
    a, b = torch.randn(2048, 768), torch.randn(768, 3072)
    for _ in range(3):
        a @ b
    start = time.perf_counter()
    for _ in range(20):
        a @ b
    return 20 * 2 * 2048 * 768 * 3072 / (time.perf_counter() - start)


def timed(function, *arguments):
    start = time.perf_counter()
    out = function(*arguments)
    return time.perf_counter() - start, out


def compare(model, data):
    rate = matrix_rate()
    for names in (["aul"], FOUR):
        slow, _ = timed(papers_way, model.net, model.codec.tokenizer, data, names)
        model.net.set_attn_implementation("sdpa")
        fast, planned = timed(ours, model, data, names)
        share = useful_operations(model, planned) / fast / rate
        facts = {"model": model.name, "measures": "+".join(names), "papers' way, s": round(slow, 1)}
        facts |= {"unmask, s": round(fast, 2), "times": round(slow / fast, 1)}
        facts |= {"of the matrix rate, %": round(100 * share)}
        record("likelihood", facts | {"matrix rate, GFLOP/s": round(rate / 1e9)})


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2 if SMALL else 100
    data = sentence_pairs(count)
    bundled = load("bundled")
    tokenizer = bundled.codec.tokenizer
    vocabulary = Path(os.environ.get("UNMASK_DATA", "")) / "tokenizers/bert-base-uncased/vocab.txt"
    if vocabulary.is_file():
        tokenizer = transformers.BertTokenizer(vocab=str(vocabulary), do_lower_case=True)
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(tokenizer))
    base = wrap(transformers.BertForMaskedLM(config), tokenizer, "masked", "BERT-base size")
    print(f"{len(data.items)} pairs of {data.name}, {torch.get_num_threads()} threads")
    for model in (bundled,) if SMALL else (bundled, base):
        compare(model, data)


if __name__ == "__main__":
    main()
