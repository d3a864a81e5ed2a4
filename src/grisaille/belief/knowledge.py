"""Everything a decision knows, worked out once and handed on.

Pending trials count as if each of their evaluations had come out as predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.audit import (
    BoxCalibration,
    audited_answers,
    kernel_complaint,
    noise_complaint,
    widening_factors,
)
from grisaille.belief.declared_intervals import DeclaredInterval
from grisaille.belief.failures import FailedInputs
from grisaille.belief.incumbent import Incumbent, find_incumbent
from grisaille.belief.learning import (
    Beliefs,
    accepted,
    contradiction,
    is_believed_exact,
    returned,
)
from grisaille.belief.plausible_set import PlausibleSet, predicted
from grisaille.belief.rules import Beta, learned_by, plausible_set, rule_of
from grisaille.belief.sampled_network import SampledNetwork, normal_samples
from grisaille.belief.simultaneous import Simultaneous, Tested
from grisaille.belief.worlds import Worlds
from grisaille.checks import check_count, has_method, is_finite
from grisaille.errors import ModelError, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.program import BoxCall, Program, split_outputs
from grisaille.records import REFUTED, History, Pending, Situation

# --- pending --------------------------------------------------------------------------------------
# Pending trials, as if each of their evaluations had come out as predicted.
#
# A predicted answer equals the posterior mean: it leaves the mean where it is and narrows the
# band as the real answer will, so that the next suggestion goes elsewhere (Desautels, Krause
# and Burdick 2014, batched upper confidence bounds). Such bands are for choosing where to go;
# they are too narrow to bound anything.


def with_pending(
    program: Program,
    beliefs: Beliefs,
    pending: Iterable[Pending],
    intervals: Mapping[str, DeclaredInterval] | None = None,
) -> Beliefs:
    """Beliefs once pending trials have come out as `beliefs` predict.

    Args:
        program: Objective and constraints.
        beliefs: A surrogate for each black box, after all answers.
        pending: The pending trials.
        intervals: What declarations and answers leave to the black boxes whose bands they cut.
    """
    updated = dict(beliefs)
    for trial in pending:
        for box, state in _unanswered(program, beliefs, trial, intervals or {}):
            updated[box] = updated[box].with_predicted(state)
    return updated


def _unanswered(
    program: Program, beliefs: Beliefs, trial: Pending, intervals: Mapping[str, DeclaredInterval]
) -> list[tuple[str, Tensor]]:
    """Every box that will be evaluated, and where: for deep calls, where it is predicted to be."""
    places = [(program.calls[p.call].box.name, torch.tensor(p.inputs)) for p in trial.probes]
    if not trial.suggestion.chain:
        return places
    position = {id(call): number for number, call in enumerate(program.calls)}

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        answer = trial.answers.get(position[id(call)])
        if answer is not None:
            return torch.tensor(answer).unsqueeze(0)
        if torch.isfinite(states).all():
            places.append((call.box.name, states[0]))
        name = call.box.name
        return predicted(beliefs[name], call, states, intervals.get(name))

    with torch.no_grad():
        program.run(torch.tensor(trial.suggestion.x).unsqueeze(0), resolve)
    return places


# --- knowledge ------------------------------------------------------------------------------------
# Knowledge at the time of a decision, worked out once and handed on.

WIDTH = 2.0
"""Half-width of the bands that judge noisy trials, for strategies that have no beta."""


# A decision, the line of a table and a result ask about one history: it is learned once.
_learned_once = lru_cache(maxsize=2)(plausible_set)


class Knowledge:
    """What a strategy knows in a situation. Each part is worked out when it is first used.

    The objective is always minimized: where the problem maximizes, it is the negative of yours.

    Args:
        situation: The situation.
        beta: Half-width of the confidence bands, in posterior standard deviations: a number, a
            `Theory` or `Declared()`.
    """

    def __init__(self, situation: Situation, beta: Beta = WIDTH) -> None:
        if not isinstance(situation, Situation):
            raise ModelError(
                f"Knowledge(situation={shortened(situation)}): pass the gs.Situation that a "
                "strategy's suggest() is called with"
            )
        if not has_method(beta, "plausible_set") and not (is_finite(beta) and beta > 0):  # type: ignore[operator]
            raise ModelError(
                f"Knowledge(beta={shortened(beta)}): beta must be a positive number, a gs.Theory() "
                "or gs.Declared()"
            )
        self.situation = situation
        self.rule = rule_of(beta)._with_evaluations(situation.at_once)
        self._networks: dict[int, SampledNetwork] = {}

    @property
    def program(self) -> Program:
        """Objective and constraints."""
        return self.situation.problem.program

    @property
    def history(self) -> History:
        """Everything observed so far."""
        return self.situation.history

    @property
    def is_learned(self) -> bool:
        """Whether the bands rest on learned hyper-parameters, so that they are a guess."""
        return bool(learned_by(self.rule, self.program.boxes))

    @property
    def is_declared(self) -> bool:
        """Whether the bands hold by declared constants, so that what they prove is proved."""
        return self.rule._width is None

    @cached_property
    def is_exact(self) -> bool:
        """Whether no black box is noisy: as declared, else as concluded from its answers."""
        problem = self.situation.problem
        if problem.is_exact or problem.causal is not None or not len(self.history):
            return problem.is_exact
        believed = self.answered.beliefs
        return all(is_believed_exact(box, believed[box.name]) for box in self.program.boxes)

    @cached_property
    def untested(self) -> tuple[str, ...]:
        """Black boxes whose noise was left out, and that look exact only by their likelihood.

        None of them once a design point was tried twice: equal inputs show whether there is noise.
        """
        beliefs = self.answered.beliefs if self._unrepeated else {}
        return tuple(b.name for b in self._unrepeated if is_believed_exact(b, beliefs[b.name]))

    @cached_property
    def suspected(self) -> tuple[str, ...]:
        """Black boxes whose noise was left out, and that look noisy only by their likelihood."""
        return tuple(b.name for b in self._unrepeated if b.name not in self.untested)

    @cached_property
    def _unrepeated(self) -> list[BlackBox]:
        """Black boxes whose noise was left out, if no design point was tried twice."""
        points = {(trial.x + 0.0).tobytes() for trial in self.history}
        if self.is_declared or len(points) < len(self.history):
            return []
        boxes = [b for b in self.program.boxes if b.is_learned and not b.process_noise]
        return [box for box in boxes if box.noise is None and box.model is None]

    @cached_property
    def answered(self) -> PlausibleSet:
        """The plausible set after all answers (Eq. mean_cov, Def. hpb_int)."""
        return _learned_once(self.program, self.history, self.rule)

    @cached_property
    def contradiction(self) -> str:
        """Why the answers contradict what is believed of a black box; empty if they do not."""
        beliefs = self.answered.beliefs
        found = [contradiction(box, beliefs[box.name]) for box in self.program.boxes]
        found += [row.complaint for row in self.calibration if row.factor > REFUTED]
        return next(filter(None, found), "")

    @cached_property
    def beliefs(self) -> Beliefs:
        """A surrogate for each black box, as if pending evaluations had come out as predicted."""
        answered, pending = self.answered, self.situation.pending
        if not pending:
            return answered.beliefs
        return with_pending(self.program, answered.beliefs, pending, answered.intervals)

    @cached_property
    def plausible(self) -> PlausibleSet:
        """The plausible set, as if pending evaluations had come out as predicted."""
        answered = self.answered
        return PlausibleSet(self.program, self.beliefs, answered.beta, answered.intervals)

    @cached_property
    def audited(self) -> PlausibleSet:
        """The plausible set that bounds come from: bands are as wide as their audit asks for.

        Bands that hold by declaration need no audit.
        """
        if self.rule._width is None:
            return self.plausible
        factors = widening_factors(self.program, self._errors, self.rule._width)
        wider = {name: self.situation.widening * factor for name, factor in factors.items()}
        right = all(factor == 1 for factor in wider.values())
        return self.plausible if right else self.plausible.scaled(wider)

    @cached_property
    def pointwise(self) -> PlausibleSet:
        """The plausible set by bands that hold at a single point, such as the best one tried."""
        return self.plausible if self.is_declared else self._simultaneous().at_one_point()

    @cached_property
    def confident(self) -> PlausibleSet:
        """The plausible set that bounds come from: bands that hold wherever the optimum may be."""
        if self.rule._width is None:
            return self.plausible
        found = self.incumbent
        best = found.most if found is not None and found.feasible else np.inf
        return self._simultaneous().where_better(best)

    def everywhere(self, floor: PlausibleSet) -> PlausibleSet:
        """Return bands at least as wide as others, and so wide that they hold at all points."""
        return self._simultaneous(floor).everywhere()

    def chance_infeasible(self) -> float:
        """Return the chance that no point is feasible: the share of draws in which none is.

        0 as soon as a feasible point is known. NaN where nothing can be drawn: before each black
        box has an answer, for bands that hold by declaration, and with process noise.
        """
        found, width = self.incumbent, self.rule._width
        if found is not None and found.feasible:
            return 0.0
        answered = self.history.counts()
        unknown = [b for b in self.program.boxes if b.name not in answered]
        if width is None or unknown or self.situation.problem.causal is not None:
            return np.nan
        if not len(self.history) or self.program.process_noise:
            return np.nan
        bands = self._simultaneous()
        learned = [box.name for box in self.program.boxes if box.is_learned]
        degrees = {name: float(bands.degrees[name].min()) for name in learned}
        worlds = Worlds(self.plausible, degrees, bands.factors, self.situation.trial_seed)
        return worlds.share_infeasible(self.history.constraint_sizes())

    def _simultaneous(self, floor: PlausibleSet | None = None) -> Simultaneous:
        """Return bands that hold at once, and are no narrower than what one point asks for."""
        width = self.rule._width
        assert width is not None
        if floor is None:
            largest = {n: float(e.max(initial=0.0)) / width for n, e in self._errors.items()}
            floor = self.plausible.scaled({n: max(1.0, e) for n, e in largest.items()})
            if self.situation.widening > 1:  # a doubt is about the bands that choose points
                floor = self.audited
        tested, confidence = self._tested, self.rule._confidence
        return Simultaneous(floor, tested, self.history, width, confidence)

    @cached_property
    def calibration(self) -> tuple[BoxCalibration, ...]:
        """How well the bands of each black box predicted its answers."""
        beta = self.rule._width
        if beta is None or not len(self.history):
            return ()
        factors = widening_factors(self.program, self._errors, beta)
        rows = []
        for box in self.program.boxes:
            errors = self._errors[box.name]
            inside = int((errors <= beta).all(1).sum())
            rows.append(
                BoxCalibration(
                    box.name,
                    answers=len(errors),
                    inside=inside,
                    largest=float(errors.max(initial=0.0)),
                    factor=factors[box.name],
                    conclusions=self.answered.beliefs[box.name].remarks,
                    complaint=noise_complaint(box, len(errors), inside, beta)
                    or kernel_complaint(box, factors[box.name], len(errors)),
                    weight=float(self._tested[box.name].weights.sum()),
                )
            )
        return tuple(rows)

    def calibration_of_bound(self) -> tuple[BoxCalibration, ...]:
        """Return the calibration with the half-widths of the bands behind the bound."""
        rows = self.calibration
        if not rows or self.contradiction:
            return rows
        widths = self.confident.beta
        return tuple(replace(row, reach=float(widths[row.box].max())) for row in rows)

    @cached_property
    def complaint(self) -> str:
        """Why answers speak against a declared noise, or a kernel; empty if they do not.

        Then bounds are estimates, however they were searched for, and stop no study.
        """
        return next(filter(None, (row.complaint for row in self.calibration)), "")

    @cached_property
    def _tested(self) -> dict[str, Tested]:
        return audited_answers(self.program, self.history, self.answered.beliefs)

    @property
    def _errors(self) -> dict[str, Array]:
        return {name: tested.errors for name, tested in self._tested.items()}

    @cached_property
    def incumbent(self) -> Incumbent | None:
        """The best point tried; None before the first trial.

        Where observations are noisy, posterior means judge. A system over interventions answers
        with every variable of every run; their average counts, which a trial has already.
        """
        problem = self.situation.problem
        exact = not len(self.history) or problem.causal is not None or self.is_exact
        plausible = None if exact else self.answered
        found = find_incumbent(self.history, plausible, self.situation.is_answer, problem.lenience)
        if found is None or exact:
            return found
        x = self.history.trials[found.position].x
        price = found.most - found.objective
        return replace(found, upper=self.pointwise.highest(x) + price)

    @property
    def best(self) -> float | None:
        """The least feasible objective so far, minimized; None while nothing feasible is known.

        Where observations are noisy, it is the posterior mean at the best point.
        """
        found = self.incumbent
        return found.objective if found is not None and found.feasible else None

    def predict(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Objective and constraints with each black box at its posterior mean along the chain.

        Args:
            x: Design points, (batch, n).

        Returns:
            Objective (batch,), minimized, and constraints (batch, K), met when <= 0.
        """
        self._check_points("predict", x)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            mean, _ = self.beliefs[call.box.name].predict(accepted(call.box, states))
            return returned(call.box, mean)

        return split_outputs(self.program.run(x, resolve))

    def draw(self, x: Tensor, samples: int = 128) -> tuple[Tensor, Tensor]:
        """Objective and constraints with each black box drawn from its posterior along the chain.

        A call answers mean + deviation * w, with one quasi-random standard normal number w per
        draw and output. The numbers w come from the seed and the trial: every call of this method
        in one situation sees the same draws, which are smooth functions of x.

        Args:
            x: Design points, (batch, n).
            samples: How many draws.

        Returns:
            Objective (samples, batch), minimized, and constraints (samples, batch, K), met when
            <= 0.
        """
        self._check_points("draw", x)
        return self.network(samples).draw(x)

    def network(self, samples: int) -> SampledNetwork:
        """The draws behind `draw`."""
        check_count("draw", "samples", samples)
        if samples not in self._networks:
            normal = normal_samples(self.program, samples, self.situation.trial_seed)
            self._networks[samples] = SampledNetwork(self.program, self.beliefs, normal)
        return self._networks[samples]

    def _check_points(self, who: str, x: object) -> None:
        """Raise ModelError unless a value is a tensor of design points."""
        n = self.program.size
        if isinstance(x, Tensor) and x.dim() == 2 and x.shape[1] == n and x.is_floating_point():
            return
        got = f"x of shape {tuple(x.shape)}" if isinstance(x, Tensor) else f"x={shortened(x)}"
        raise ModelError(
            f"{who}({got}): pass design points as a tensor of floats of shape (batch, {n})"
        )

    @cached_property
    def failures(self) -> FailedInputs | None:
        """Where black boxes failed; None if none did."""
        failed = FailedInputs(self.program, self.history) if self.history.failures else None
        return failed or None
