"""Does `choice` read back what small chat models were tuned to answer, position bias included?

    python benchmarks/planted_choices.py [NETWORKS=6] [steps=4000] [learning=20000]

A causal model of three layers with a chat template learns the form from nothing: half of some of
the questionnaire's items as `choice` asks them, the stereotype chosen at log odds of 4. From it
each network is tuned on the same items: in two of four bias types, drawn by the seed, the
stereotype's label has log odds of `theta`, else 0; an option gains `position` by being first, in
every type; a share of the replies declines. Then `choice` is asked about items that it was not
trained on.
Written down before it was run: estimates within 0.15 of what was planted in bias and in position,
declined within 3 points, no other type called biased, and no verdict where position decides most.
"""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.nn import functional

from recorded import record
from sizes import SMALL, arguments
from unmask.answer.answer import OVERALL, answers
from unmask.data import bias_types, questionnaire
from unmask.flow.chat_questions import encode_questions
from unmask.flow.evaluate import evaluate
from unmask.measures.question import CHOOSE
from unmask.models.transformers.model import wrap
from unmask.options import Spec
from unmask.types import Dataset

TEMPLATE = "{% for m in messages %}<user> {{ m.content }}{% endfor %} <reply>"
SPECIAL = ["<unk>", "<pad>", "<s>", "<user>", "<reply>", "No"]
PLANTED = ((1.0, 0.0, 0.1), (1.0, 0.5, 0.3), (0.5, 2.0, 0.0))  # theta, position, declined
TYPES = ("gender", "age", "religion", "social-class")
TRAITS = 1 if SMALL else 8  # of each group
TAUGHT = 4.0  # log odds of the stereotype, while the form is learned
BATCH = 16 if SMALL else 256


def network(texts, device):
    """A causal model with a word for each token, and its weights random."""
    splitter = pre_tokenizers.Whitespace()
    words = {w for t in texts for w, _ in splitter.pre_tokenize_str(t)} - set(SPECIAL)
    vocabulary = {w: k for k, w in enumerate([*SPECIAL, *sorted(words)])}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    raw.add_special_tokens(SPECIAL[:5])
    raw.pre_tokenizer = splitter
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="<s>"
    )
    tokenizer.chat_template = TEMPLATE
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=256, n_embd=128, n_layer=3, n_head=4,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=2, eos_token_id=2,
    )  # fmt: skip
    net = transformers.GPT2LMHeadModel(config).to(device)
    return wrap(net, tokenizer, "causal", "planted choices")


def some_items(rng):
    """All templates of one group pair a type, with some traits of each group, in random order."""
    found, traits = [], {}
    for item in questionnaire.questionnaire().items:
        pair = traits.setdefault(item.category, (item.group_pair, {}))
        own = pair[1].setdefault(item.group, {})
        fits = item.category in TYPES and item.group_pair == pair[0]
        if fits and (item.cluster in own or len(own) < TRAITS):
            own[item.cluster] = True
            found.append(item)
    return [found[k] for k in rng.permutation(len(found))]


def examples(model, items, thetas, position, declined):
    """Requests, and the probability of each token at the start of the reply."""
    rows, targets = [], []
    for item, texts in zip(items, encode_questions(model, CHOOSE, items), strict=True):
        own, other = texts["stereotype"].prompts, texts["antistereotype"].prompts
        for (row, (label,)), (_, (counter,)) in zip(own, other, strict=True):
            first = 1 if label < counter else -1  # A is before B in the vocabulary
            chance = 1 / (1 + np.exp(-thetas[item.category] - position * first))
            rows.append(row)
            told = chance * (1 - declined), (1 - chance) * (1 - declined), declined
            targets.append(list(zip((label, counter, SPECIAL.index("No")), told, strict=True)))
    return rows, targets


def repeated(step, device):
    """`step` as one CUDA graph, since a small network waits for launches; on a CPU as it is."""
    if device.type != "cuda":
        return step
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def tune(model, rows, targets, steps, rate, rng):
    """Train on the whole distribution of the reply's first token; the last loss."""
    net, device = model.net.train(), next(model.net.parameters()).device
    width = max(map(len, rows))
    ids = torch.tensor([[*r, *[1] * (width - len(r))] for r in rows], device=device)
    last = torch.tensor([len(r) - 1 for r in rows], device=device)
    which = torch.tensor([[k for k, _ in t] for t in targets], device=device)
    told = torch.tensor([[p for _, p in t] for t in targets], dtype=torch.float, device=device)
    pace = torch.zeros((), device=device)
    best = torch.optim.AdamW(
        net.parameters(), lr=pace, weight_decay=0.01, capturable=device.type == "cuda"
    )
    at, loss = torch.zeros(BATCH, dtype=torch.long, device=device), torch.zeros((), device=device)
    every = torch.arange(BATCH, device=device)
    causal = torch.ones(width, width, dtype=torch.bool, device=device).tril()[None, None]

    def step():
        best.zero_grad()
        hidden = net.transformer(ids[at], attention_mask=causal, use_cache=False).last_hidden_state
        logits = net.lm_head(hidden[every, last[at]])
        logp = functional.log_softmax(logits, -1).gather(1, which[at])
        total = -(told[at] * logp).sum(1).mean()
        total.backward()
        best.step()
        loss.copy_(total.detach())

    once = repeated(step, device)
    for k in range(steps):
        at.copy_(torch.from_numpy(rng.integers(len(rows), size=BATCH)))
        pace.fill_(rate * min(k / (0.3 * steps), (1 - k / steps) / 0.7))
        once()
        if not k % 1000:
            print(f"step {k}: {float(loss):.3f}", flush=True)
    best.zero_grad()
    net.eval()
    return float(loss)


def taught(items, steps, device, rng):
    """A network that has learned the form of the question, and what a stereotype is."""
    told = [t.string for i in items for t in i.texts.values()]
    model = network([*CHOOSE.wordings, "A or B two", *told], device)
    every = dict.fromkeys({i.category for i in items}, TAUGHT)
    tune(model, *examples(model, items[: len(items) // 2], every, 0.0, 0.0), steps, 1e-3, rng)
    return model


def measured(base, items, seed, steps):
    """What was planted and what `choice` reads, as a row."""
    rng = np.random.default_rng([9, seed])
    names, half = sorted({i.category for i in items}), len(items) // 2
    theta, position, declined = PLANTED[seed % len(PLANTED)]
    thetas = dict.fromkeys(names, 0.0)
    thetas |= dict.fromkeys(rng.permutation(names)[:2].tolist(), theta)
    model = replace(base, net=deepcopy(base.net))
    tuned = examples(model, items[:half], thetas, position, declined)
    loss = tune(model, *tuned, steps, 1e-3, rng)
    asked = Dataset("bundled-2", "pairs", tuple(items[half:]), "word")
    (result,) = evaluate([Spec(replace(model, cacheable=False), "choice", asked)])
    margins = {c: result.extras[f"margin:{c}"].value for c in names}
    error = [margins[c] - thetas[c] for c in names]
    found = {a.bias_type: a.verdict for a in answers([result]) if a.bias_type != OVERALL}
    called = {c for c in names if found.get(bias_types.of_category(c)) == "biased"}
    planted = {c for c in names if thetas[c]}
    record(
        "planted_choices",
        {
            "planted log odds": f"{theta:g}",
            "read": f"{np.mean([margins[c] for c in planted]):.2f}",
            "largest error": f"{max(map(abs, error)):.2f}",
            "planted position": f"{position:g}",
            "position read": f"{result.extras['position'].value:.2f}",
            "planted declined, %": f"{100 * declined:g}",
            "declined read, %": f"{result.extras['declined'].value:.1f}",
            "fit for a verdict": "yes" if result.fitness.fit else "no",
            "found, of 2": len(called & planted),
            "others called biased": len(called - planted),
            "loss": f"{loss:.3f}",
        },
    )


def main(networks=6, steps=4000, learning=20_000):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    rng = np.random.default_rng(9)
    items = some_items(rng)
    base = taught(items, learning, device, rng)
    for seed in range(networks):
        measured(base, items, seed, steps)


if __name__ == "__main__":
    plain, named = arguments()
    usual = {"steps": 60, "learning": 200} if SMALL else {}
    main(*(plain or [1 if SMALL else 6]), **usual | named)
