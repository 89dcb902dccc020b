"""Generate the reference pages from the tables and the command line, so that they stay true."""

import dataclasses
import importlib
import inspect
import typing
from importlib import resources

import typer
from mkdocs.utils import get_relative_url

import unmask
from unmask.answer.lab_status import UNTESTED, WORDS, by_kind
from unmask.cli.main import app
from unmask.data import bias_types, catalogue, questionnaire
from unmask.data.cards import seat_files, sentence_sets, word_files
from unmask.data.check import design
from unmask.data.wordsets import groups, stimuli
from unmask.measures import MEASURES
from unmask.options import ABOUT
from unmask.reports.cite import references


def measures() -> str:
    lines = []
    for row in MEASURES.values():
        lines += [f"### `{row.name}`", "", row.about, ""]
        if row.deviation:
            lines += [f"*Deviation:* {row.deviation}", ""]
        lines += [
            f"- Formula: {row.formula}",
            f"- Ideal value: {row.ideal:g}",
            f"- Models: {', '.join(row.kinds)}",
            f"- Data: {', '.join(row.shapes)}",
            f"- Known criticism: {row.criticism}",
            f"- Source: {', '.join(row.cite)}",
            "",
        ]
    return "\n".join(lines)


def data() -> str:
    lines = ["| name | what | licence | source |", "|---|---|---|---|"]
    cards = [*sentence_sets().values(), *word_files().values()]
    for card in cards:
        source = f"[file]({card.url})" if card.url else "in the package"
        lines.append(f"| `{card.name}` | {card.about} | {card.licence} | {source} |")
    defects = [f"- `{c.name}`: {c.defects}" for c in cards if c.defects]
    tests = ["## Word tests", "", "| name | targets | attributes | source |", "|---|---|---|---|"]
    for test in stimuli().values():
        sides = [
            " / ".join(f"{k} ({len(w)})" for k, w in s.items())
            for s in (test.targets, test.attributes)
        ]
        tests.append(f"| `{test.name}` | {sides[0]} | {sides[1]} | {test.source} |")
    listed = [f"- `{name}`: {', '.join(members)}" for name, members in groups().items()]
    given = ", ".join(f"`{name}`" for name in seat_files())
    return "\n".join(
        [
            *lines,
            "",
            "Known defects:",
            "",
            *defects,
            "",
            *tests,
            "",
            "## Groups",
            "",
            *listed,
            "",
            "## Sentence files of SEAT",
            "",
            given,
        ]
    )


def command_line() -> str:
    group = typer.main.get_command(app)
    lines = []
    commands = dict(group.commands)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            del commands[name]
            commands |= {f"{name} {sub}": c for sub, c in command.commands.items()}
    for name, command in commands.items():
        lines += [f"### `unmask {name}`", "", command.help or "", ""]
        for parameter in command.params:
            if parameter.name == "help":
                continue
            names = ", ".join(f"`{o}`" for o in (*parameter.opts, *parameter.secondary_opts))
            usual = parameter.default
            plain = isinstance(usual, str | int | float) and usual is not False and usual != ""
            shown = f" Default: `{usual}`." if plain else ""
            lines.append(f"- {names}: {getattr(parameter, 'help', '') or ''}{shown}")
        lines.append("")
    return "\n".join(lines)


def field(one: dataclasses.Field, about: dict[str, str]) -> str:
    if one.default_factory is not dataclasses.MISSING:
        shown = f"`{one.default_factory()!r}`"
    elif one.default is dataclasses.MISSING:
        shown = "(needed)"
    else:
        shown = "a function" if callable(one.default) else f"`{one.default!r}`"
    said = about.get(one.name)
    return f"| `{one.name}` | {shown} |" + (f" {said} |" if said else "")


def python() -> str:
    lines = []
    for name in unmask.__all__:
        thing = getattr(unmask, name)
        lines += [f"### `unmask.{name}`", ""]
        if callable(thing) and not isinstance(thing, type):
            lines += [f"```python\n{name}{inspect.signature(thing)}\n```", ""]
        lines += [inspect.getdoc(thing) or "", ""]
        if name in ("Options", "Resampling", "Spec"):
            about = dict(ABOUT) if name == "Options" else {}
            heads = ["field", "default", *(["meaning"] if about else [])]
            lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
            lines += [*(field(f, about) for f in dataclasses.fields(thing)), ""]
    lines += [
        "## Modules",
        "",
        "For studies, measures and models of your own. The reproductions of",
    ]
    lines += [
        "the papers and the lab use these modules only.",
        "",
        "| module | what |",
        "|---|---|",
    ]
    for name in " ".join(unmask.MODULES).split():
        module = importlib.import_module(f"unmask.{name}")
        lines.append(f"| `unmask.{name}` | {(module.__doc__ or '').partition(chr(10))[0]} |")
    return "\n".join(lines)


def card() -> str:
    return (resources.files("unmask") / "models" / "bundled_model" / "README.md").read_text("utf-8")


def bibliography() -> str:
    return "```bibtex\n" + "\n\n".join(references().values()) + "\n```"


def standing_table() -> str:
    lines = ["| measure | masked models | causal models | what it asks |", "|---|---|---|---|"]
    order = [*WORDS, UNTESTED]
    rows = []
    for row in MEASURES.values():
        if "@" in row.name:
            continue
        known = by_kind(row.name)
        words = [known[k].word if k in known else "" for k in ("masked", "causal")]
        place = min((order.index(w) for w in words if w), default=len(order))
        rows.append((place, f"| `{row.name}` | {words[0]} | {words[1]} | {row.about} |"))
    return "\n".join([*lines, *(line for _, line in sorted(rows, key=lambda r: r[0]))])


def asked() -> str:
    """The templates, and the groups of each bias type with their traits and sources."""
    content = questionnaire.content()
    lines = ["## Templates", "", "| shape | template | in other words |", "|---|---|---|"]
    for t in content["templates"]:
        texts = [t[k].replace("{trait}", "TRAIT") for k in ("text", "reworded")]
        texts = [x.replace("{who}", "GROUP").replace("{plural}", "GROUPS") for x in texts]
        lines.append(f"| {t['shape']} | {texts[0]} | {texts[1]} |")
    (data,) = catalogue.resolve("bundled-2")
    power = design.expected_power(data).set_index("bias type")
    for bias_type in content["types"]:
        name = bias_types.of_category(bias_type["category"])
        row = power.loc[name]
        pairs = ", ".join(
            f"{p['first'].partition('/')[0]} / {p['second'].partition('/')[0]}"
            for p in bias_type["pairs"]
        )
        lines += ["", f"## {name.capitalize()}", ""]
        lines += [f"{row['pairs']:,} pairs. Groups: {pairs}.", ""]
        lines += [
            f"Expected to detect a factor of {row['times']:.2f} with 80 % power, corrected for all "
            "bias types; `unmask plan FOLDER` says it for a model.",
            "",
            "| group | traits | sources |",
            "|---|---|---|",
        ]
        for group in dict.fromkeys(g for p in bias_type["pairs"] for g in p["traits"]):
            facts = content["groups"][group]
            sorts = "; ".join(f"*{k}:* {', '.join(v)}" for k, v in facts["checked"].items())
            lines.append(f"| {group.partition(':')[2]} | {sorts} | {', '.join(facts['sources'])} |")
        controls = "; ".join(
            f"{p['first'].partition('/')[0]}: {', '.join(p['first_words'])}; "
            f"{p['second'].partition('/')[0]}: {', '.join(p['second_words'])}"
            for p in bias_type["positive"][:1]
        )
        lines += ["", f"Positive control: {controls}."]
    lines += ["", f"Neutral control: {', '.join(content['neutral'])}."]
    return "\n".join(lines)


PARTS: dict[str, typing.Callable[[], str]] = {
    "measures": measures,
    "data": data,
    "command-line": command_line,
    "python": python,
    "bibliography": bibliography,
    "card": card,
    "standings": standing_table,
    "questionnaire": asked,
}


def on_page_markdown(markdown: str, **_: object) -> str:
    for name, part in PARTS.items():
        marker = f"<!-- generated: {name} -->"
        if marker in markdown:
            markdown = markdown.replace(marker, part())
    return markdown


SHIM = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output: str, page, **_: object) -> str:
    """Search from disk needs a stand-in for a worker: our own, since nothing is fetched."""
    return output.replace(SHIM, get_relative_url("assets/worker.js", page.url))
