"""The page that a command writes, with the differences between models."""

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from unmask import options, types
from unmask.answer.answer import Answer
from unmask.errors import DataError
from unmask.reports import difference_words
from unmask.reports.figures import drawing, result_figures
from unmask.reports.html import page
from unmask.studies import bias_type_differences, compare

MODELS_BY_BIAS_TYPE = 6  # with more models, all pairs by all bias types are too many to read


class Content(NamedTuple):
    """The content of a page: results, and figures that precede their own."""

    results: types.Results
    figures: Sequence[drawing.Figure] = ()
    differences: Sequence[str] = ()
    answer: Sequence[Answer] | None = None


def with_differences(results: types.Results) -> Content:
    """Return results with figures of the paired differences between their models.

    If the items cannot be paired, a note says so, and the models are shown without differences.
    """
    if len(results.models) < 2:
        return Content(results)
    try:
        return of_comparison(results, compare.compare(results)[0], by_bias_type(results))
    except DataError as error:
        notes = [*results.notes, f"no paired differences: {error}"]
        return Content(types.Results(results, notes, results.lost))


def by_bias_type(
    results: types.Results, resampling: options.Resampling | None = None
) -> pd.DataFrame:
    """Return the differences by bias type, or an empty frame if there are too many models."""
    if len(results.models) > MODELS_BY_BIAS_TYPE:
        return pd.DataFrame()
    resampling_used = options.Resampling() if resampling is None else resampling
    return bias_type_differences.compare_by_bias_type(results, resampling=resampling_used)


def of_comparison(results: types.Results, frame: pd.DataFrame, bias_types: pd.DataFrame) -> Content:
    """Results with their comparison, in sentences and figures."""
    figures = result_figures.differences(frame)
    sentences = difference_words.summary(frame, bias_types)
    return Content(results, figures, sentences)


def write(content: Content, folder: Path, show: bool = False, scale: str | None = None) -> Path:
    """The page of some results in a folder, its tables on a scale; `show` opens it."""
    path = folder / page.PAGE
    try:
        page.write(_page(content, scale), path)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"the files of the run are inconsistent ({type(error).__name__}: {error}); run again."
        ) from error
    if show:
        webbrowser.open(path.resolve().as_uri())
    return path


def _page(content: Content, scale: str | None) -> page.Page:
    return page.page(
        content.results,
        extra=content.figures,
        scale=scale,
        differences=content.differences,
        answer=content.answer,
    )
