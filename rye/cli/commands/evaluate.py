"""The command ``rye eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rye.cli.options import SearchCommand, ask
from rye.cli.params import PATH, argument, engine_options, json_flag, option, places, take_where
from rye.cli.terminal import answer
from rye.options.search import WhyOptions
from rye.surface.requests import arguments_of


@click.command("eval", cls=SearchCommand)
@argument("questions", type=PATH)
@engine_options(WhyOptions)
@option(
    "lowest",
    "--min",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Exit with 1 if hit@1 is below this share, 0 to 1, or a question cannot be measured",
)
@places()
@json_flag
def evaluate(questions: Path, *, lowest: float | None, **options: Any) -> int:
    """Measure how often the first hit of a question is the expected item, and explain each failure.

    QUESTIONS is an evals.json, a trigger_eval.json, or a CSV file with two columns, question and item; or a folder,
    which is searched for evals.json, trigger_eval.json and evals.csv. Other options are those of `rye search`.

    Exit status: 0 measured, 1 worse than --min, 2 error.
    """
    from rye.cli.render.findability import render_findability

    where = take_where(options)
    arguments = arguments_of(WhyOptions, options)
    findability = ask(where, lambda registry: registry.evaluate(questions, **arguments), doing="measuring")
    answer(findability, render_findability, as_json=options["as_json"])
    return int(lowest is not None and (findability.hit_at_1 < lowest or bool(findability.errors)))
