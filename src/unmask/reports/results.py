"""Write results to files and read them back.

`results.json` follows `results.schema.json` and records the digest of its `items.parquet`, so that
a file of another run is detected.
"""

import hashlib
import json
import math
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa

from unmask.answer import answer_sentences
from unmask.answer.answer import Answer
from unmask.answer.fitness import assessed
from unmask.answer.scales import scale_of
from unmask.errors import DataError, UnmaskError
from unmask.options import Spec
from unmask.reports import earlier_results
from unmask.reports.files import atomically, make_folder, put
from unmask.support.version import __version__
from unmask.types import Coverage, Estimate, Fitness, Result, Results, Verdict

RESULTS, ITEMS, TOKENS = "results.json", "items.parquet", "tokens.parquet"
SCHEMA = earlier_results.SCHEMA
_UNSAVED = {"items", "artifacts"}
ITEM_COLUMNS = {"model", "measure", "data", "item", "label", "sentence", "score"}


def schema() -> dict[str, Any]:
    """The JSON schema of `results.json`."""
    text = resources.files("unmask.reports").joinpath("results.schema.json").read_text("utf-8")
    return dict(json.loads(text))


# ---------------------------------------------------------------- writing


def save(
    results: Iterable[Result] | Result,
    folder: Path | str,
    command: str | None = None,
    answer: Sequence[Answer] | None = None,
) -> None:
    """Write `results.json` and `items.parquet`; each appears only when complete.

    `tokens.parquet` is added if results have token scores. `command` is the command that was run;
    `answer` avoids recomputing the results' answer.
    """
    several = results if isinstance(results, Iterable) else ()
    items = [results] if isinstance(results, Result) else list(several)
    if not items or not all(isinstance(r, Result) for r in items):
        raise DataError("there are no results to save; run a measure first.")
    folder = make_folder(_path(folder))
    for stale in (folder / "report.html", folder / "study.toml"):
        stale.unlink(missing_ok=True)  # it belongs to earlier results
    frame = pd.concat(
        [r.items.assign(result=place) for place, r in enumerate(items)], ignore_index=True
    )
    atomically(folder / ITEMS, lambda path: frame.to_parquet(path, index=False))
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "made": about_run(command),
        "notes": list(getattr(results, "notes", ())),
        "items": {"file": ITEMS, "sha256": digest(folder / ITEMS)},
        "answer": _answer(items, answer),
        "results": [to_record(r) for r in items],
    }
    sources = [(n, r) for n, r in enumerate(items) if scale_of(r).share and "tokens" in r.artifacts]
    if sources:
        answers = [
            r.artifacts["tokens"].assign(measure=r.measure, result=place) for place, r in sources
        ]
        tokens = pd.concat(answers, ignore_index=True)
        atomically(folder / TOKENS, lambda path: tokens.to_parquet(path, index=False))
        content["tokens"] = {"file": TOKENS, "sha256": digest(folder / TOKENS)}
    text = json.dumps(content, indent=1, allow_nan=False)
    put(folder / RESULTS, text)


def _answer(results: Sequence[Result], answer: Sequence[Answer] | None) -> dict[str, Any]:
    """The answer by bias type, in sentences and as records."""
    frame = answer_sentences.frame(results, answer)
    return {"sentences": frame.attrs["sentences"], "bias_types": records(frame)}


def about_run(command: str | None = None) -> dict[str, Any]:
    """Return the version, time and command of a file."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    return {"unmask": __version__, "date": time, "command": command}


def command_line() -> str:
    """The command that is running, as it could be typed again."""
    return shlex.join(["unmask", *sys.argv[1:]])


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_record(result: Result) -> dict[str, Any]:
    """A result without its items, as plain JSON values; NaN becomes null."""
    names = (f.name for f in fields(result) if f.name not in _UNSAVED)
    return {name: _plain(getattr(result, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate | Coverage | Spec | Verdict | Fitness):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A frame's rows as plain JSON values."""
    return [_plain(r) for r in frame.to_dict("records")]


# ---------------------------------------------------------------- reading


def load(folder: Path | str) -> Results:
    """Results of an earlier run, checked against the schema."""
    folder = _path(folder)
    content = _content(folder / RESULTS)
    version = content["schema"]
    content = earlier_results.upgraded(content, folder / RESULTS)
    _check(content, folder / RESULTS)
    frame = read_items(folder, content.get("items", {}).get("sha256"))
    if lacking := ITEM_COLUMNS - set(frame.columns):
        raise DataError(f"{folder / ITEMS} has no column {', '.join(sorted(lacking))}; run again.")
    frame = earlier_results.upgraded_items(frame, version)
    parts = dict(tuple(frame.groupby("result", sort=False))) if "result" in frame else {}
    if set(parts) != set(range(len(content["results"]))):
        raise DataError(
            f"{str(folder)!r}: {ITEMS} does not contain the items of {RESULTS}; run again with "
            "another output folder."
        )
    answers = _tokens(folder, content.get("tokens"))
    try:
        results = [
            from_record(record, _part(parts[place]), answers.get(place))
            for place, record in enumerate(content["results"])
        ]
    except (ValueError, TypeError, UnmaskError) as error:
        raise DataError(f"{folder / RESULTS} contradicts itself ({error}); run again.") from error
    return Results(assessed(results), content.get("notes", ()))


def gather(value: Any) -> Results:
    """Return one `Results` from a folder, from results in memory, or from several of them.

    Models of different runs get distinct names: the model's name alone if it is unique, else with
    the folder's name, its path, or the run's number. Results in memory form runs in order: a
    repeated measurement of a model starts a new run.
    """
    if isinstance(value, str | Path):
        return load(value)
    if isinstance(value, Result):
        value = [value]
    if not isinstance(value, Iterable):
        raise DataError(f"{value!r:.40} is not a result; give results, or folders of them.")
    runs: list[_Run] = []
    loose = False  # whether the last run consists of results given one by one
    for part in value:
        if isinstance(part, Result):
            runs += _runs_in_memory([part], runs.pop().results if loose and runs else ())
        elif isinstance(part, str | Path):
            runs.append(_Run(load(part), Path(part)))
        else:
            runs += _runs_in_memory(gather(part) if not isinstance(part, Results) else part)
        loose = isinstance(part, Result)
    notes = tuple(value.notes) if isinstance(value, Results) else ()
    lost = value.lost if isinstance(value, Results) else ()
    named = _told_apart(runs)
    return Results(named, dict.fromkeys((*notes, *named.notes)), (*lost, *named.lost))


class _Run(NamedTuple):
    """The results of one run, and the folder that they are from."""

    results: Results
    folder: Path | None = None


def _runs_in_memory(new: Iterable[Any], before: Sequence[Result] = ()) -> list[_Run]:
    """Split results into runs without repetitions; the first run continues `before`."""
    runs, keys = [list(before)], {_identity(r) for r in before}
    for r in new:
        if not isinstance(r, Result):
            raise DataError(f"{r!r:.40} is not a result; give results, or folders of them.")
        if _identity(r) in keys:
            runs.append([])
            keys = set()
        runs[-1].append(r)
        keys.add(_identity(r))
    notes = getattr(new, "notes", ())
    return [_Run(Results(run, notes)) for run in runs if run]


def _identity(result: Result) -> tuple[str, ...]:
    """Return a key of what was measured: results with equal keys are from different runs."""
    return (result.model, *result.spec.key)


def _told_apart(runs: Sequence[_Run]) -> Results:
    """Combine runs into one, with a distinct name for each model."""
    places = [(model, n) for n, run in enumerate(runs) for model in run.results.models]
    names: dict[tuple[str, int], str] = {}
    for model in dict.fromkeys(model for model, _ in places):
        numbers = [n for name, n in places if name == model]
        names |= _run_names(model, numbers, runs, {*names.values(), *(m for m, _ in places)})
    results = [
        replace(r, spec=replace(r.spec, model=names[r.model, n]))
        for n, run in enumerate(runs)
        for r in run.results
    ]
    notes = dict.fromkeys(note for run in runs for note in run.results.notes)
    return Results(results, notes, [model for run in runs for model in run.results.lost])


def _run_names(
    model: str, numbers: Sequence[int], runs: Sequence[_Run], names_used: set[str]
) -> dict[tuple[str, int], str]:
    """The names of the runs of one model; none that another uses (`names_used`)."""
    if len(numbers) == 1:
        return {(model, numbers[0]): model}
    folders = [runs[n].folder for n in numbers]
    plain = [f"run {n + 1}" for n in numbers]
    short = [p if f is None else f.resolve().name for f, p in zip(folders, plain, strict=True)]
    full = [p if f is None else str(f) for f, p in zip(folders, plain, strict=True)]
    named = [[f"{model} ({label})" for label in labels] for labels in (short, full, plain)]
    for labels in named:
        if len(set(labels)) == len(labels) and not names_used & set(labels):
            return dict(zip([(model, n) for n in numbers], labels, strict=True))
    return {(model, n): f"{model} #{n + 1}" for n in numbers}


def _path(folder: Any) -> Path:
    if not isinstance(folder, str | Path):
        raise DataError(f"{folder!r:.40} is not a folder; give its path.")
    return Path(folder)


def _part(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="result").reset_index(drop=True)


def _tokens(folder: Path, named: Mapping[str, str] | None) -> dict[int, pd.DataFrame]:
    """Return the saved token scores by result; a file that was changed is ignored."""
    path = folder / TOKENS
    if named is None or not path.is_file():
        return {}
    frame = _parquet(path, named["sha256"])
    return {int(place): _part(part) for place, part in frame.groupby("result", sort=False)}


def _content(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise DataError(
            f"{str(path.parent)!r} holds no {RESULTS}; give a folder that 'unmask run -o' wrote."
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not a complete JSON file ({error}); run again.") from error
    if not isinstance(content, dict) or not isinstance(content.get("results"), list):
        raise DataError(f"{path} has no list of results; give a file that 'unmask run' wrote.")
    if (version := content.get("schema")) not in range(earlier_results.OLDEST, SCHEMA + 1):
        raise DataError(
            f"{path} has schema version {version!r}; this unmask reads "
            f"{earlier_results.OLDEST} to {SCHEMA}. "
            "Use the unmask version that wrote the file, or a newer one."
        )
    return content


def read_items(folder: Path, expected: str | None = None) -> pd.DataFrame:
    """The items table of a folder of results, checked against its digest where one is known."""
    path = folder / ITEMS
    if not path.is_file():
        raise DataError(f"{str(folder)!r} holds no {ITEMS}; give a folder that 'run' wrote.")
    return _parquet(path, expected)


def _parquet(path: Path, expected: str | None) -> pd.DataFrame:
    if expected is not None and digest(path) != expected:
        raise DataError(
            f"{path} does not belong to {RESULTS}: a run was interrupted while writing, or a file "
            "was changed; run again."
        )
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{path} is not a complete parquet file ({error}); run again.") from error


def _check(content: Mapping[str, Any], path: Path) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    error = jsonschema.exceptions.best_match(validator.iter_errors(content))
    if error is not None:
        where = "/".join(map(str, error.absolute_path)) or "the top"
        raise DataError(
            f"{path} does not match the results schema: at {where}, {error.message[:150]}; "
            "give the file as it was written, or run again."
        )


def from_record(
    record: Mapping[str, Any], items: pd.DataFrame, tokens: pd.DataFrame | None = None
) -> Result:
    """A result from its record and its items, and its tokens where they were kept."""
    with_verdict, categories = set(record.get("verdicts", {})), {"", *record["by_category"]}
    if with_verdict - categories or (with_verdict and "" not in with_verdict):
        raise ValueError("its verdicts do not match its categories")
    estimates: dict[str, Any] = {
        key: {name: _estimate(value) for name, value in record[key].items()}
        for key in ("by_category", "extras")
    }
    return Result(
        spec=Spec(**record["spec"]),
        overall=_estimate(record["overall"]),
        accuracy=None if record["accuracy"] is None else _estimate(record["accuracy"]),
        coverage=Coverage(**record["coverage"]),
        fitness=_fitness(record.get("fitness") or {}),
        notes=tuple(record["notes"]),
        shown=tuple(record["shown"]),
        verdicts={k: Verdict(**v) for k, v in record.get("verdicts", {}).items()},
        items=items,
        artifacts={} if tokens is None else {"tokens": tokens},
        **{key: record[key] for key in ("compared", "settings", "provenance")},
        **estimates,
    )


def _fitness(record: Mapping[str, Any]) -> Fitness:
    return Fitness(**{**record, "reasons": tuple(record.get("reasons", ()))})


def _estimate(record: Mapping[str, Any]) -> Estimate:
    missing = {k: math.nan for k in ("value", "low", "high", "se") if record.get(k) is None}
    return Estimate(**{**record, **missing})
