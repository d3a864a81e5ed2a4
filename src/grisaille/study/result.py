"""The result of a study."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
from scipy.optimize import OptimizeResult
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.audit import BoxCalibration
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.rules import BandRule
from grisaille.checks import check_choice, check_flag, check_name, is_finite, is_whole
from grisaille.errors import ModelError, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program
from grisaille.language.variable import Variable
from grisaille.metrics import Metrics
from grisaille.proof.certificate import Certificate
from grisaille.records import Evaluation, Failure, History, Situation, TrialKind
from grisaille.reductions.reduction import border
from grisaille.strategies.optimistic import bands_of
from grisaille.strategies.strategy import Strategy
from grisaille.theory.beta import Theory
from grisaille.wrong_names import no_such_attribute

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from grisaille.theory.amplification import Form
    from grisaille.theory.guarantee import Guarantee
    from grisaille.views.inspection.inspection import Inspection
    from grisaille.views.inspection.learned_model import LearnedModel

Path = str | os.PathLike[str] | None


def _name_of(who: str, problem: Problem, box: str | BlackBox) -> str:
    """Return the name of a black box.

    Raises:
        ModelError: It is the path of a file instead.
    """
    name = box.name if isinstance(box, BlackBox) else box
    causal = problem.causal
    known = [one.name for one in (problem if causal is None else causal.model).boxes]
    if isinstance(name, str | PurePath) and name not in known and PurePath(name).suffix:
        raise ModelError(
            f"{who}({shortened(box)}): the first argument is a black box; to save the picture, "
            f"write {who}(path={str(name)!r})"
        )
    return name


def _drawn(who: str, path: Path, draw: Callable[[], Figure]) -> Figure:
    """Draw a picture, and save it if there is a path."""
    from grisaille.views.matplotlib_charts import check_path, save_figure

    check_path(who, path)
    figure = draw()
    if path is not None:
        save_figure(figure, path, who)
    return figure


class Status(StrEnum):
    """Why a study stopped; "running" if it has not."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    LIKELY_INFEASIBLE = "likely_infeasible"
    RUNNING = "running"
    MAX_TRIALS = "max_trials"
    MAX_COST = "max_cost"
    TIMEOUT = "timeout"
    GAP_TOL = "gap_tol"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    NO_BLACK_BOX = "no_black_box"


class Assurance(StrEnum):
    """What a bound rests on.

    PROVED: bands that hold by declared constants, searched everywhere. CERTIFIED: searched
    everywhere, but for bands that are a guess, which their audit has widened as far as the answers
    ask for. ESTIMATED: a search that may have missed something. UNTESTED: learned bands of a black
    box with fewer than five predicted answers: nothing shows how often they are right. NONE: there
    is no bound.
    """

    PROVED = "proved"
    CERTIFIED = "certified"
    ESTIMATED = "estimated"
    UNTESTED = "untested"
    NONE = "none"


class NoSuchFieldError(ModelError, KeyError):
    """A field that a result does not have; also what Python expects of dictionaries."""

    __str__ = Exception.__str__  # a KeyError would quote its text


class Result(OptimizeResult):  # type: ignore[misc]
    """SciPy's `OptimizeResult`, with a bound, a gap and the history.

    `result[expression]` is the value of any expression at the recommended point: of a choice its
    label, of an integer an `int`.

    Attributes:
        x: The recommended point, flat: the best feasible point that was evaluated. When none was
            feasible, the one of least violation, and `success` is False. None before any trial.
        fun: Objective at x in the user's sense. With noise it is the posterior mean, not the
            luckiest sample.
        success: Whether x is feasible.
        maxcv: Largest constraint violation at x beyond its tolerance; 0 when feasible.
        constr: The constraint bodies at x as observed, met when <= 0: tolerances are taken off.
        lower_bound: The optimum does not lie below this.
        upper_bound: The optimum does not lie above this. One of the two bounds is the value at x
            (with noise, the far end of what the bands allow there) and the other one is the
            optimistic bound.
        gap: upper_bound - lower_bound; infinite when one is missing.
        assurance: What the optimistic bound rests on, an `Assurance`.
        certified: Whether the optimistic bound is proved, given the confidence bands. False: it
            comes from a search that may miss, or too few answers have tested the bands.
        certificate: The proof that no point is feasible while the bands hold, when the status is
            "infeasible" or "likely_infeasible"; else None.
        status: Why it stopped, a `Status`.
        message: The same in a sentence.
        evaluations: How often each black box was evaluated, by name.
        nfev: All of these together.
        nit: Number of trials.
        failures: Where black boxes gave no answer, with reasons.
        history: Every trial and observation.
        problem: The problem that was solved.
        strategy: What chose the points.
        evaluation: "separate" or "chained".
    """

    x: Array | None
    fun: float
    success: bool
    maxcv: float
    constr: Array
    lower_bound: float
    upper_bound: float
    gap: float
    assurance: Assurance
    certified: bool
    certificate: Certificate | None
    status: Status
    message: str
    evaluations: dict[str, int]
    nfev: int
    nit: int
    failures: tuple[Failure, ...]
    history: History
    problem: Problem
    strategy: Strategy
    evaluation: Evaluation

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Expression):
            return self._value(key)
        if not isinstance(key, str):
            raise ModelError(
                f"result[{shortened(key)}]: pass an expression of the problem, or the name of a "
                "field"
            )
        if key not in self:
            hint = _hint(self, key)
            raise NoSuchFieldError(f"result[{shortened(key)}]: there is no such field{hint}")
        return super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return super().__getitem__(name)
        raise no_such_attribute(self, name)

    def _value(self, expression: Expression) -> Any:
        if self.x is None:
            raise ModelError("the result holds no trial, so no expression has a value in it")
        program = Program([expression], self.problem.variables)
        chain = self.history.trials[self["best_trial"]].chain
        known = {call.key: chain[call.columns] for call in self.problem.program.calls}

        def resolve(call: BoxCall, _states: Tensor) -> Tensor:
            if call.key not in known:
                raise ModelError(
                    f"{expression!r} calls black box {call.box.name!r} in a way the problem does "
                    "not, so its value was never evaluated: call the function yourself"
                )
            return torch.tensor(known[call.key]).unsqueeze(0)

        (value,) = program.run(torch.tensor(self.x).unsqueeze(0), resolve)
        array = value[0].numpy().copy()
        if isinstance(expression, Variable) and expression.is_whole:
            array = np.rint(array).astype(int)
        if isinstance(expression, Variable) and expression.labels:
            return expression.labels[int(array)]
        return array.item() if array.shape == () else array

    def __dir__(self) -> list[str]:
        own = {*type(self).__dict__}
        return sorted({*self.keys(), *own, "keys", "items", "values", "get"})

    def report(self, path: str | os.PathLike[str], *, name: str = "study") -> None:
        """Write a report to read, print and send: one HTML file without scripts.

        It shows the problem, the answer with its verdict, convergence, constraints, what was
        learned of each black box, failures and versions.

        Args:
            path: The file.
            name: The title.
        """
        from grisaille.views.report import write_report

        check_name("a report", name)
        write_report(self, path, name)

    def to_dataframe(self) -> pandas.DataFrame:
        """One row per trial: point, objective, constraints, bound, evaluations, seconds."""
        from grisaille.study.trial_tables import trials_table

        return trials_table(self.problem, self.history, self["learned"])

    @property
    def confidence(self) -> pandas.DataFrame:
        """How sure the recommended point is: a row for the objective and for each constraint.

        Columns:
            value: The objective; of a constraint, the side that is limited.
            lower, upper: The interval of this value by the bands, as in `Study.predict`.
            limit: The plain number it is compared with; 0 if both sides vary, and the value is
                then their difference.
            slack: The room that is left, in the constraint's own units; negative if violated.
            active: Whether the room may be used up: by the bands, or because moving the variables
                by 1 % of their ranges could use it up.
            multiplier: By how much the objective gets better per unit that the limit is relaxed, to
                first order: Lagrange multipliers of the predicted problem at this point. 0 if the
                constraint is not active.
            unit: As declared; empty without one.
            note: Why there is no multiplier.
        """
        if self.x is None:
            raise ModelError("the result holds no trial, so there is no point to be sure of")
        from grisaille.views.inspection.predictions import confidence_table, predictor_for

        return confidence_table(predictor_for(self.problem, self.history, self.strategy), self.x)

    def predict(self, expression: Expression, x: Any = None) -> pandas.DataFrame:
        """Mean, lower and upper of an expression at design points, as in `Study.predict`.

        Args:
            expression: Any expression of the problem's variables and black boxes.
            x: The points, as for `Study.predict`; the recommended point by default.
        """
        if x is None and self.x is None:
            raise ModelError("predict: the result holds no trial, so pass the points x yourself")
        from grisaille.views.inspection.predictions import expression_table, predictor_for

        predictor = predictor_for(self.problem, self.history, self.strategy)
        return expression_table(predictor, expression, self.x if x is None else x)

    def model(self, box: str | BlackBox) -> LearnedModel:
        """What was learned of a black box: its predictions, length-scales, noise and data."""
        from grisaille.views.inspection.learned_model import learned_model

        return learned_model(self.problem, self.history, self.strategy, box)

    @property
    def calibration(self) -> tuple[BoxCalibration, ...]:
        """How well the bands of each black box predicted its answers, and how bounds use that.

        Empty for strategies other than `Optimistic`, and for bands that hold by declaration.
        """
        rule = bands_of(self.strategy)
        if rule is None:
            return ()
        situation = border(self.problem).down(Situation(self.problem, self.history, seed=0))
        rows = Knowledge(situation, rule).calibration_of_bound()
        if self.assurance != Assurance.NONE:
            return rows
        return tuple(replace(row, reach=np.nan) for row in rows)

    @property
    def p_infeasible(self) -> float:
        """The chance that no point is feasible, by what is believed of the black boxes.

        100 times, all black boxes are drawn together; this is the share of draws in which no
        feasible point is found. It is 0 as soon as a feasible point is known. NaN where nothing can
        be drawn: before each black box has an answer, for bands that hold by declaration, with
        process noise, and for problems over interventions.
        """
        reductions = border(self.problem)
        situation = reductions.down(Situation(self.problem, self.history, seed=0))
        rule = bands_of(self.strategy)
        knowledge = Knowledge(situation) if rule is None else Knowledge(situation, rule)
        return knowledge.chance_infeasible()

    def metrics(self, optimum: float) -> Metrics:
        """Regret and violations of the trials as observed, for a known optimum in the user's sense.

        With noise these are the measures of noisy observations. Inside, objectives are minimized:
        those of a problem that maximizes have their sign turned.
        """
        return Metrics(
            [t.objective for t in self.history],
            [t.constraints for t in self.history],
            self.problem.sense * optimum if is_finite(optimum) else optimum,
        )

    def guarantee(self, form: Form = "tight") -> Guarantee:
        """What the theorems promised beforehand; for a study in theory mode."""
        return self._guarantee(form, "")

    def discrepancy_bounds(self, form: Form = "tight") -> Array:
        """How far each trial can be from what was promised (Lemma discrepancy_bound).

        Returns:
            (trials, 1 + K) for the objective and each constraint, while the bands hold; NaN for
            trials that the algorithm did not choose. With Lipschitz constants that are estimated,
            estimates.
        """
        from grisaille.theory.guarantee import discrepancy_bounds

        rule = self._rule("discrepancy bounds")
        return discrepancy_bounds(self.problem, self.history, rule, form)

    def bound_sources(self) -> dict[str, str]:
        """Where the constants behind the bounds on regret come from.

        For each black box: "declared", "norm bound" or "estimated"; for "known parts": "exact" or
        "estimated". A bound that rests on an estimate is one.
        """
        from grisaille.theory.guarantee import constants_of

        rule = self._rule("bounds on regret")
        constants, known = constants_of(self.problem, self.history, rule)
        named = {name: str(constant.source) for name, constant in constants.items()}
        return {**named, "known parts": str(known.source)}

    def regret_bound(self, form: Form = "tight", realized: bool = True) -> float:
        """Bound on the cumulative positive regret of the trials, and so on R_T.

        Args:
            form: Which constants A_i: "tight", "corrected" or "printed".
            realized: True for the sum of the discrepancy bounds that were really met, the first
                step of the proof of Theorem R_bound; False for the theorem's own, larger, number.
        """
        check_flag("", "realized", realized)
        if not realized:
            return self._promised(form).regret(self.nit)
        return float(self._realized(form)[0])

    def violation_bounds(self, form: Form = "tight", realized: bool = True) -> Array:
        """Bound on the cumulative violation of each constraint, (K,), as in `regret_bound`."""
        check_flag("", "realized", realized)
        if not realized:
            return self._promised(form).violations(self.nit)
        return self._realized(form)[1:]

    def best_iterate_bound(self, form: Form = "tight", realized: bool = True) -> float:
        """Some trial has at most this positive regret plus sum of violations."""
        check_flag("", "realized", realized)
        if not realized:
            return self._promised(form).best_iterate(self.nit)
        return float(self._realized(form).sum()) / self.nit

    def _promised(self, form: Form) -> Guarantee:
        guarantee = self._guarantee(form, ", or leave realized=True")
        self._check_trials()
        return guarantee

    def _guarantee(self, form: Form, otherwise: str) -> Guarantee:
        """Return the guarantee; `otherwise` names what else helps a study without theory mode."""
        from grisaille.theory.guarantee import Guarantee

        rule = self._rule("the theorems' bounds")
        if rule._width is not None:
            raise ModelError(
                "the theorems' bounds are for theory mode, and this study had "
                f"beta={rule._width:g}: solve with "
                f"strategy=gs.Optimistic(beta=gs.Theory()){otherwise}"
            )
        return Guarantee(
            self.problem,
            cast(Theory, rule),
            form=form,
            evaluation=self.evaluation,
            given=self.history.loose,
        )

    def _realized(self, form: Form) -> Array:
        bounds = self.discrepancy_bounds(form)
        self._check_trials()
        return np.asarray(bounds.sum(0))

    def _check_trials(self) -> None:
        """Bounds on regret are for optimistic trials whose auxiliary problem was feasible."""
        kinds = [(t.number, t.suggestion) for t in self.history]
        chosen = "bounds on regret are for trials that the algorithm chose itself"
        if not kinds:
            raise ModelError(f"{chosen}: there is none yet")
        others = [number for number, s in kinds if s.kind is not TrialKind.OPTIMISTIC]
        if others:
            raise ModelError(
                f"{chosen}: trials {others} were not; solve with exploit=False, and give all "
                "kernels their hyper-parameters"
            )
        at_once = [number for number, s in kinds if s.pending]
        if at_once:
            raise ModelError(
                f"bounds on regret are for trials decided one after the other: trials {at_once} "
                "were decided while others were under way"
            )
        hopeless = [number for number, s in kinds if s.bound.estimated is None]
        if hopeless:
            raise ModelError(
                f"bounds on regret are for feasible problems, and trials {hopeless} found no "
                "plausible feasible point: the problem looks infeasible"
            )

    def _rule(self, what: str) -> BandRule:
        rule = bands_of(self.strategy)
        if rule is None:
            raise ModelError(
                f"{what} are for gs.Optimistic, not for {type(self.strategy).__name__}"
            )
        if not rule._has_regret_bounds:
            raise ModelError(
                f"{what} are for bands of Gaussian processes, and this study had "
                "beta=gs.Declared(): its gap is a bound on its regret"
            )
        return rule

    def __repr__(self) -> str:
        from grisaille.study.trial_tables import describe_result

        return describe_result(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from grisaille.study.trial_tables import result_html

        return result_html(self)

    def plot(
        self,
        path: Path = None,
        *,
        axes: Any = None,
        against: Literal["trial", "cost"] = "trial",
        scale: Literal["linear", "log"] = "linear",
    ) -> Figure:
        """Convergence: trials, best feasible value and bound; the gap; the violations.

        Circles are feasible trials and crosses infeasible ones. Triangles at the edge are trials
        outside the axis, open ones if they are infeasible. The gap has a logarithmic axis.

        Args:
            path: Where to save it; None for nowhere.
            axes: One Axes for the objective alone, or one for each panel.
            against: "trial" for the number of the trial, "cost" for what all answers up to then
                cost.
            scale: "log" shows how far the values are from the final bound on a logarithmic axis;
                from the best value if there is no bound, or one that is farther away than all
                feasible trials.
        """
        check_choice("plot", "against", against, ("trial", "cost"))
        check_choice("plot", "scale", scale, ("linear", "log"))

        def draw() -> Figure:
            from grisaille.views.charts import Course, with_unit
            from grisaille.views.inspection.convergence import convergence
            from grisaille.views.matplotlib_charts import draw_convergence

            problem = self.problem
            costs = {box.name: box.cost for box in problem.boxes}
            course = Course(
                convergence(self.history, problem.sense, costs, self["learned"]),
                problem.sense,
                with_unit(problem.objective_name or "objective", problem.objective_unit),
                self.fun,
                self.upper_bound if problem.sense == 1 else self.lower_bound,
                self._bound,
                self["best_trial"],
                not problem.is_exact,
                against,
            )
            return draw_convergence(course, bool(problem.constraints), scale=scale, axes=axes)

        return _drawn("plot", path, draw)

    def plot_slices(
        self,
        box: str | BlackBox | None = None,
        output: int | str = 0,
        *,
        axes: Any = None,
        path: Path = None,
    ) -> Figure:
        """How a value depends on one quantity at a time, through the recommended point.

        Without a black box, this is the objective along the variables; it is hatched where, by the
        bands, some constraint is violated. With one, it is an output of the black box along its
        inputs. The line is the prediction, the grey area its band. Answers are paler the farther
        they are from the slice. Of more than 12 quantities, those with the largest effect are
        drawn.

        Args:
            box: A black box, or its name; None for the objective.
            output: Its output, by position or name.
            axes: One Axes for each quantity that is drawn.
            path: Where to save it; None for nowhere.
        """
        name = None if box is None else _name_of("plot_slices", self.problem, box)
        if name is None and not (is_whole(output) and output == 0):
            raise ModelError(f"plot_slices(output={shortened(output)}): pass the black box, too")

        def draw() -> Figure:
            from grisaille.views.matplotlib_charts import draw_box_slices, draw_design_slices

            if name is None:
                return draw_design_slices(self._inspection, axes)
            return draw_box_slices(self._inspection, name, output, axes)

        return _drawn("plot_slices", path, draw)

    def plot_constraints(self, *, axes: Any = None, path: Path = None) -> Figure:
        """The slack of each constraint over the trials, in parts of its size over the trials.

        Constraints are met in the shaded part. The black line is the one that is tightest at the
        recommended point. An equality is one line: its tolerance less what its sides differ by. Of
        more than 8 constraints, the tightest are drawn.

        Args:
            axes: One Axes.
            path: Where to save it; None for nowhere.
        """

        def draw() -> Figure:
            from grisaille.views.matplotlib_charts import draw_constraints

            return draw_constraints(self.problem, self.history, self["best_trial"], axes)

        return _drawn("plot_constraints", path, draw)

    def plot_calibration(
        self,
        box: str | BlackBox | None = None,
        output: int | str | None = None,
        *,
        axes: Any = None,
        path: Path = None,
    ) -> Figure:
        """Whether bands are right: each answer, and what all others would have predicted of it.

        There are two panels for each output. The left one shows predictions with their bands
        against answers; the right one shows the errors in deviations. Answers outside their bands
        are marked. Of more than 6 outputs, those with the largest errors are drawn.

        Args:
            box: A black box, or its name; None for all of them.
            output: One of its outputs, by position or name; None for all of them.
            axes: Two Axes for each output that is drawn.
            path: Where to save it; None for nowhere.
        """
        name = None if box is None else _name_of("plot_calibration", self.problem, box)

        def draw() -> Figure:
            from grisaille.views.matplotlib_charts import draw_calibration

            return draw_calibration(self._inspection, name, output, axes)

        return _drawn("plot_calibration", path, draw)

    def plot_sensitivity(self, *, axes: Any = None, path: Path = None) -> Figure:
        """What variables and black boxes do to the objective and to the gap.

        Variables: by how much the predicted objective varies over the range of each, all others
        held at the recommended point, and how much could still be gained along it by the bands.
        Black boxes: by how much the objective varies with their answers, and the part of the gap
        that would close if one were known. Of more than 15, those with the largest effect are
        drawn.

        Args:
            axes: Three Axes: for the variables, the black boxes, and the parts of the gap.
            path: Where to save it; None for nowhere.
        """

        def draw() -> Figure:
            from grisaille.views.matplotlib_charts import draw_sensitivity

            return draw_sensitivity(self._inspection, axes)

        return _drawn("plot_sensitivity", path, draw)

    @property
    def _inspection(self) -> Inspection:
        from grisaille.views.inspection.inspection import Inspection

        return Inspection(self.problem, self.history, self.strategy)

    @property
    def _bound(self) -> float | None:
        bound = self.lower_bound if self.problem.sense == 1 else self.upper_bound
        return bound if np.isfinite(bound) else None


def _hint(result: Result, name: str) -> str:
    """The field that may have been meant."""
    near = difflib.get_close_matches(name, [n for n in dir(result) if n[0] != "_"], 1, 0.4)
    return f": did you mean {near[0]!r}?" if near else ""
