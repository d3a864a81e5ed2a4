"""A look at what was learned of one black box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.declared_intervals import DeclaredInterval
from grisaille.belief.knowledge import WIDTH
from grisaille.belief.learning import believe, noise_of
from grisaille.belief.plausible_set import clip_band
from grisaille.belief.predictions import PREDICTIONS, check_answered
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.kernels import Hyperparameters, Kernel, as_composite
from grisaille.errors import ModelError, counted, printable, shortened
from grisaille.language.black_box import BlackBox, input_kinds, input_number_names, shown_inputs
from grisaille.language.box_inputs import (
    distinct_namings,
    input_units,
    known_inputs,
    names_by_source,
)
from grisaille.language.design_points import check_inside, named_points
from grisaille.language.problem import Problem
from grisaille.language.values import Places, entry_names, expanded
from grisaille.markup import labelled
from grisaille.records import History
from grisaille.reductions.interventions import mechanism_history
from grisaille.strategies.strategy import Strategy
from grisaille.views.inspection.predictions import predictor_for

if TYPE_CHECKING:
    import pandas

# Longer lists of outputs are shortened where they are shown as text.
_MANY_NAMES = 24


class LearnedModel:
    """What was learned of a black box: `study.model("reactor")`, `result.model("reactor")`.

    All numbers are in the user's own units. What a belief does not have raises a `ModelError`
    that says so.

    Attributes:
        box: The black box.
        input_names: A name for each input: of the function's arguments, else of the variables and
            outputs it is called with, else `input[0]`, `input[1]`. A choice is one input.
        output_names: A name for each output: as declared, else `h` or `h[0]`, `h[1]`.
    """

    def __init__(
        self,
        problem: Problem,
        history: History,
        box: BlackBox,
        belief: Belief,
        width: Tensor,
        interval: DeclaredInterval | None = None,
    ) -> None:
        self.box = box
        self._belief = belief
        self._width = width  # of its bands, in posterior standard deviations, (k,)
        self._interval = interval
        self._inputs, self._outputs = history.data(box.name, box.inputs, box.outputs)
        shape = () if box.outputs == 1 else (box.outputs,)
        self.output_names = list(box.output_names) or entry_names(box.name, shape)
        plain = entry_names("input", (len(input_kinds(box)),))
        namings = [*distinct_namings(problem, box), names_by_source(problem, box), plain]
        own = set(self.output_names)
        self.input_names = next((n for n in namings if not own.intersection(n)), plain)
        self._known = {n: frozenset(p) for n, p in known_inputs(problem, box).items()}
        self._units = input_units(problem, box)
        self._number_names = input_number_names(box, self.input_names)

    def predict(self, inputs: Any) -> pandas.DataFrame:
        """Mean, deviation, lower and upper of every output, one row per input.

        Args:
            inputs: One flat input or one per row, or a dictionary or DataFrame by input name: a
                name of `input_names`, or another one that `Study.observe` knows the input by.

        Returns:
            Columns `h mean`, `h deviation`, `h lower`, `h upper` for each output h: posterior mean
            and standard deviation of the function itself, and the interval of its band. A noisy
            answer varies by `noise` besides.
        """
        import pandas

        states = torch.tensor(self._points(inputs))
        found = zip(*map(self._moments_and_band, states.split(PREDICTIONS.rows)), strict=True)
        parts = zip(("mean", "deviation", "lower", "upper"), map(torch.cat, found), strict=True)
        values = dict(parts)
        columns = {
            f"{name} {part}": values[part][:, output].numpy()
            for output, name in enumerate(self.output_names)
            for part in values
        }
        return pandas.DataFrame(columns)

    @torch.no_grad()
    def _moments_and_band(self, states: Tensor) -> tuple[Tensor, ...]:
        """The mean, the deviation and both ends of the band at states (batch, d), (batch, k)."""
        mean, deviation = self._belief.predict(states)
        reach = self._width * deviation
        ends = clip_band(self.box, states, mean - reach, mean + reach, self._interval)
        return mean, deviation, *ends

    @property
    def kernel(self) -> Kernel:
        """The kernel family."""
        if self._belief.kernel is None:
            raise self._lacks("kernel")
        return self._belief.kernel

    @property
    def lengthscales(self) -> pandas.DataFrame:
        """How far each input must move for each output to change: rows outputs, columns inputs.

        A choice has one per label, in columns such as `catalyst=A`: the shorter it is, the more
        the outputs of this label differ from those of others. Where several parts of a kernel read
        an input, each part has a length-scale, in columns such as `x[0], part 2`.
        """
        import pandas

        scales = self._hyperparameters("length-scales").lengthscale.numpy()
        return pandas.DataFrame(scales, index=self.output_names, columns=self._scale_names())

    def _scale_names(self) -> list[str]:
        names = self._number_names
        kernel = as_composite(self.kernel, len(names))
        if len(set(kernel.columns)) == len(kernel.columns):
            return [names[i] for i in kernel.columns]
        parts = enumerate(kernel.parts, 1)
        return [f"{names[i]}, part {number}" for number, part in parts for i in part.inputs]

    @property
    def variance(self) -> pandas.Series:
        """Variance of the kernel, by output, in squared units of the output."""
        return self._by_output("variance", self._hyperparameters("variance").variance.numpy())

    @property
    def noise(self) -> pandas.Series:
        """Standard deviation of the noise of an answer, by output: declared, else as learned."""
        if self.box.noise is None and self._belief.noise is None:
            raise self._lacks("noise level")
        return self._by_output("noise", np.array(noise_of(self.box, self._belief)))

    @property
    def band_widths(self) -> pandas.Series:
        """How far its band reaches to either side, by output, in standard deviations."""
        return self._by_output("band width", self._width.numpy())

    @property
    def data(self) -> pandas.DataFrame:
        """All answers: a column for each input and each output, one row per answer."""
        import pandas

        rows = [
            [*shown_inputs(self.box, x), *y.tolist()]
            for x, y in zip(self._inputs, self._outputs, strict=True)
        ]
        return pandas.DataFrame(rows, columns=[*self.input_names, *self.output_names])

    def leave_one_out(self) -> pandas.DataFrame:
        """Each answer, and what would be predicted of it from all the others.

        Hyper-parameters stay as they are. Good bands leave most errors within 2, and large ones
        point at answers to look at again.

        Returns:
            Columns `h`, `h mean`, `h deviation`, `h error` for each output h: the answer, its
            prediction with the standard deviation of an answer, noise included, and the difference
            in such deviations.
        """
        import pandas

        found = self._belief.left_out(self._inputs, self._outputs)
        if found is None:
            raise self._lacks("leave-one-out predictions")
        mean, deviation = found
        error = (self._outputs - mean) / deviation
        columns = {}
        for output, name in enumerate(self.output_names):
            columns[name] = self._outputs[:, output]
            for part, values in (("mean", mean), ("deviation", deviation), ("error", error)):
                columns[f"{name} {part}"] = values[:, output]
        return pandas.DataFrame(columns)

    def _points(self, inputs: Any) -> Array:
        who = f"model({self.box.name!r}).predict(inputs)"
        if not self.box.inputs:
            raise ModelError(f"{who}: black box {self.box.name!r} has no inputs: see its `data`")
        what = f"black box {self.box.name!r}"
        places = Places(what, self.input_names, self._known, "input")
        columns = places.named(inputs, who)
        if columns is not None:
            given = places.columns(columns, who)
            names = zip(self.input_names, given, strict=True)
            inputs = {name: columns[column] for name, column in names}
        kinds = input_kinds(self.box)
        parts = [(name, ()) for name in self.input_names]
        points = expanded(kinds, named_points(parts, inputs, who, kinds, self._units))
        ends = (self.box.input_lower, -np.inf), (self.box.input_upper, np.inf)
        lower, upper = (np.broadcast_to(e if g is None else g, self.box.inputs) for g, e in ends)
        check_inside(points, self._number_names, lower, upper, who)
        return points

    def _hyperparameters(self, what: str) -> Hyperparameters:
        if self._belief.hyperparameters is None:
            raise self._lacks(what)
        return self._belief.hyperparameters

    def _by_output(self, what: str, values: Array) -> pandas.Series:
        import pandas

        return pandas.Series(values, index=self.output_names, name=what)

    def _lacks(self, what: str) -> ModelError:
        return ModelError(f"model({self.box.name!r}) has no {what} to show: {self._kind}")

    @property
    def _kind(self) -> str:
        """What it was learned with, in a few words."""
        return self._belief.described(self.box.is_learned)

    def _rows(self) -> list[tuple[str, str]]:
        """What is shown of it: labels, and what they say."""
        widths = ", ".join(dict.fromkeys(f"{width:.3g}" for width in self._width.tolist()))
        rows = [
            ("model of", f"black box {self.box.name!r}: {self._kind}"),
            ("answers", str(len(self._outputs))),
            ("inputs", ", ".join(self.input_names) or "none"),
            ("outputs", _listed(self.output_names)),
            ("bands", f"mean ± {widths} deviations"),
        ]
        if self._belief.hyperparameters is not None:
            deviations, patterns = self.variance**0.5, self._belief.patterns
            if patterns is not None:
                rows.append(("all outputs", self._shared_text(deviations.to_numpy(), patterns)))
            for name in self.output_names if patterns is None else []:
                row = self.lengthscales.loc[name].items()
                scales = ", ".join(f"{entry} {scale:.3g}" for entry, scale in row)
                text = f"varies by {deviations[name]:.3g}, noise {self.noise[name]:.3g}, "
                rows.append((name, f"{text}length-scales {scales}"))
        return rows

    def __repr__(self) -> str:
        return printable("\n".join(f"{label:<12} {text}" for label, text in self._rows()))

    def _repr_html_(self) -> str:
        return labelled(self._rows())

    def _shared_text(self, deviations: Array, patterns: Tensor) -> str:
        """One line about all outputs of a shared kernel."""
        row = self.lengthscales.iloc[0].items()
        scales = ", ".join(f"{entry} {scale:.3g}" for entry, scale in row)
        noises = self.noise.to_numpy()
        return (
            f"vary by {_range_text(deviations)}, noise {_range_text(noises)}, move "
            f"together in {counted(patterns.shape[1], 'pattern')}, length-scales {scales}"
        )


def _range_text(values: Array) -> str:
    """The least and the greatest of some numbers; one number if both are the same."""
    least, most = f"{values.min():.3g}", f"{values.max():.3g}"
    return least if least == most else f"{least} to {most}"


def _listed(names: list[str]) -> str:
    """All names if they are few, else the first and the last ones."""
    if len(names) <= _MANY_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:3])}, ..., {names[-1]} ({len(names)})"


def learned_model(
    problem: Problem, history: History, strategy: Strategy, box: object
) -> LearnedModel:
    """What was learned of a black box, or of a mechanism of a causal model.

    Args:
        problem: The problem.
        history: What its black boxes answered.
        strategy: Whose bands are shown.
        box: The black box, or its name.
    """
    causal = problem.causal
    if causal is not None:
        problem, history = causal.model, mechanism_history(causal, history)
    name = box.name if isinstance(box, BlackBox) else box
    found = next((b for b in problem.boxes if isinstance(name, str) and b.name == name), None)
    if found is None:
        known = ", ".join(repr(b.name) for b in problem.boxes) or "none"
        raise ModelError(f"model({shortened(name)}): there is no such black box, only {known}")
    if causal is not None:
        # Interventions may leave other mechanisms without any answer.
        check_answered([found], history)
        belief = believe(problem.program, history, only=[found.name])[found.name]
        width = torch.full((found.outputs,), WIDTH, dtype=torch.float64)
        return LearnedModel(problem, history, found, belief, width)
    bands = predictor_for(problem, history, strategy).bands
    belief, width = bands.beliefs[found.name], bands.beta[found.name]
    interval = bands.intervals.get(found.name)
    return LearnedModel(problem, history, found, belief, width, interval)
