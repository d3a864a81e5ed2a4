"""The initial design: points tried before there is anything to learn hyper-parameters from.

All strategies share it, so that with the same seed they start from the same points. Where the
variables have linear inequalities, points are uniform on the polytope these leave.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from grisaille.array_types import Array, Flags
from grisaille.belief.design_problem import design_region
from grisaille.checks import attribute_of, check_count, is_finite, real_numbers
from grisaille.errors import ModelError, shortened
from grisaille.language.design_points import own_points
from grisaille.language.linear_system import (
    LinearRows,
    LinearSystem,
    linear_restrictions,
)
from grisaille.language.problem import Problem
from grisaille.language.program import Program
from grisaille.language.unknowns import Loops, unknown_entries
from grisaille.language.values import Value
from grisaille.records import History, Situation, Suggestion, Trial, TrialKind, taken_designs
from grisaille.reductions.linear_equalities import points_to_try
from grisaille.search.polytope import POLYTOPE

# --- restricted design ----------------------------------------------------------------------------
# Design points that meet the linear inequalities of the variables: designs, and chance.
#
# Without such inequalities nothing here is used. With them, points are uniform on what they
# leave.


@dataclass(frozen=True, slots=True)
class InitialDesignConstants:
    """The constants of initial designs.

    Attributes:
        looked_at: Points of the box that show how rare those inside are. Halved and doubled: no
            decision of 3 runs changed (benchmarks.constants).
        enough: Points inside from which a sequence is used, not random walks. Halved and doubled:
            no decision of 3 runs changed (benchmarks.constants).
        walks: Random walks at once. Not measured.
        spread: Part of its range over which a torn stream is tried before points go on from
            answers. Not measured.
        points: The most points of an initial design. Halved and doubled: no decision of 11 runs
            changed (benchmarks.constants).
        later_points: Points of the sequence that are looked through for one that is not taken.
            Halved and doubled: no decision of 2 runs changed (benchmarks.constants).
    """

    looked_at: int = 4096
    enough: int = 64
    walks: int = 256
    spread: float = 0.25
    points: int = 20
    later_points: int = 256


INITIAL_DESIGN = InitialDesignConstants()


def is_restricted(program: Program) -> bool:
    """Whether linear inequalities of the variables restrict the design points."""
    return len(_rows(program)) > 0


def restricted_sequence(program: Program, seed: int, count: int) -> Array:
    """The first points (count, n) of a sequence that fills what the inequalities leave."""
    found = _sobol_points(program, seed)
    blocks = [found]
    while sum(map(len, blocks)) < count:
        number = len(blocks) - 1
        generator = np.random.default_rng(np.random.SeedSequence([seed, number]))
        needed = min(INITIAL_DESIGN.walks, count - sum(map(len, blocks)))
        blocks.append(_walked(program, generator, needed))
    return np.concatenate(blocks)[:count]


def random_point(program: Program, generator: np.random.Generator) -> Array:
    """Draw a point (n,) uniformly from what linear inequalities leave, on the steps."""
    space = program.space
    if not is_restricted(program):
        return space.spread(generator.uniform(space.search_lower, space.search_upper))
    shape = (INITIAL_DESIGN.looked_at, len(space.lower))
    drawn = space.spread(generator.uniform(space.search_lower, space.search_upper, shape))
    inside = drawn[_is_met(program, drawn)]
    return np.asarray(inside[0]) if len(inside) else _walked(program, generator, 1)[0]


@lru_cache(maxsize=8)
def _sobol_points(program: Program, seed: int) -> Array:
    """Those of the first points of a Sobol sequence that meet the inequalities; none if few do."""
    space = program.space
    engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=seed)
    unit: Array = engine.draw(INITIAL_DESIGN.looked_at, dtype=torch.float64).numpy()
    points = space.spread(space.search_lower + (space.search_upper - space.search_lower) * unit)
    found = points[_is_met(program, points)]
    return found if len(found) >= INITIAL_DESIGN.enough else found[:0]


def _walked(program: Program, generator: np.random.Generator, needed: int) -> Array:
    """Return ends of random walks inside, on the steps of their variables: as many as needed.

    The first ones do not depend on how many are needed.
    """
    space, region = program.space, design_region(program)
    drawn = None if region is None else region.walked(INITIAL_DESIGN.walks, generator)
    if drawn is None:  # there is no room for a walk: the nearest points to any
        shape = (INITIAL_DESIGN.walks, program.size)
        drawn = generator.uniform(space.search_lower, space.search_upper, shape)
    points = space.to_try(torch.tensor(drawn))
    met = _is_met(program, points)
    if met.mean() >= 1 / 16:  # as uniform as what was drawn
        return np.resize(points[met], points.shape)[:needed]
    rows = _rows(program)
    system = LinearSystem(
        equal=np.zeros((0, program.size)),
        values=np.zeros(0),
        less=rows.matrix,
        limits=-rows.constants,
        lower=space.lower,
        upper=space.upper,
        steps=space.steps,
    )
    # What nothing can meet is left as it is: the study says so.
    near = system.nearest(points[0])
    if near is None:
        return points[:needed]
    # Each point is a search of its own, so no more are made than are needed.
    rest = (system.nearest(point) for point in points[1:])
    found = (point for point in rest if point is not None)
    return np.array([near, *islice(found, needed - 1)])


def _is_met(program: Program, points: Array) -> Flags:
    """Which design points (count, n) meet the inequalities, up to rounding."""
    rows = _rows(program)
    slack = POLYTOPE.rounding * (np.abs(rows.matrix) @ (program.upper - program.lower))
    return np.asarray((points @ rows.matrix.T + rows.constants <= slack).all(1))


@lru_cache(maxsize=8)
def _rows(program: Program) -> LinearRows:
    return linear_restrictions(program)


# --- likely unknowns ------------------------------------------------------------------------------
# Likely values of unknowns, before anything is predicted.


def with_likely_unknowns(
    problem: Problem, history: History, x: Array, is_spread: bool = False
) -> Array:
    """A design point with its unknowns where equations and the latest answers put them.

    What goes around a loop is what came back in the latest trial, which is nearer to its solutions
    than most of the space of unknowns, most of which no plant ever sees. Unknowns that equations
    without black boxes fix are solved for.

    Args:
        problem: The problem.
        history: What was observed.
        x: The point; its unknowns are kept where nothing is known of them, and those that are NaN
            are put in the middle between their bounds.
        is_spread: Whether x fills the space of unknowns as well, and is to do so until these were
            tried over a part of their ranges. Else a loop that is drawn to one solution would tell
            nothing of others, and little of its black boxes.
    """
    loops = Loops(problem)
    if not loops:
        return x
    program = problem.program
    x = np.where(np.isnan(x), (program.lower + program.upper) / 2, x)
    trials = [t for t in history.trials if len(t.chain) == program.box_outputs]
    if loops.can_go_around and trials and not (is_spread and _are_close(loops, problem, trials)):
        latest = trials[-1]
        answers = {i: latest.chain[call.columns] for i, call in enumerate(program.calls)}
        back = loops.image(latest.x, answers)
        known = np.isfinite(back)
        x[loops.torn[known]] = back[known]
    return loops.settled(np.clip(x, program.lower, program.upper))


def _are_close(loops: Loops, problem: Problem, trials: list[Trial]) -> bool:
    """Whether a stream through black boxes was tried over a small part of its range only."""
    free = np.setdiff1d(loops.torn, loops.settling)
    tried = np.array([trial.x[free] for trial in trials])
    width = (problem.program.upper - problem.program.lower)[free]
    return bool((np.ptp(tried, axis=0) < INITIAL_DESIGN.spread * width).any())


# --- initial design -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InitialPoints:
    """An initial design of the user's own.

    Attributes:
        rows: One row per point.
        columns: The design entries that the columns are; empty for all of them in their order.
    """

    rows: tuple[tuple[Value, ...], ...]
    columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def points(self, problem: Problem) -> Array:
        """The points (m, n), in the order of the problem's variables; NaN for unknowns left out.

        Raises:
            ModelError: They are not points of this problem.
        """
        given: Any = self.rows
        if self.columns:
            given = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        origin = problem.origin
        if origin is None:
            return own_points(problem.program, given, "initial")
        # Users write points of the problem that they wrote.
        fill = partial(with_likely_unknowns, origin.original, History())
        full = points_to_try(origin.original, given, "initial", fill)
        return np.array([origin.reduce(point) for point in full])


Initial = int | InitialPoints | None
"""How many points to try first, or which; None for the usual number."""


def as_initial(who: str, initial: Any) -> Initial:
    """The initial design that a user asked for.

    Args:
        who: The strategy, as messages name it.
        initial: None, a number of points, an array with one row per point, or a DataFrame whose
            columns are design entries.

    Raises:
        ModelError: It is none of these.
    """
    if initial is None or isinstance(initial, InitialPoints):
        return initial
    try:
        rows, columns = _table(initial), attribute_of(initial, "columns")
        names = () if columns is None else tuple(columns)
    except Exception as error:  # of NumPy, or of a class of the user's own
        raise _no_design(who, initial) from error
    if rows.ndim == 0:
        check_count(who, "initial", initial)
        return int(rows)
    if rows.ndim == 1 and not names:
        rows = rows[None]
    texts = all(isinstance(name, str) for name in names)
    values = rows.ravel().tolist()
    if (
        rows.ndim != 2
        or not values
        or not all(isinstance(v, str) or is_finite(v) for v in values)
        or not texts
    ):
        raise _no_design(who, initial)
    plain = ((v if isinstance(v, str) else float(v) for v in row) for row in rows.tolist())
    return InitialPoints(tuple(map(tuple, plain)), names)


def _table(initial: Any) -> NDArray[Any]:
    """Numbers, or numbers and labels."""
    try:
        return real_numbers(initial)
    except (TypeError, ValueError):
        rows: NDArray[Any] = np.array(initial, dtype=object)
        if not any(isinstance(value, str) for value in rows.ravel()):
            raise
        return rows


def _no_design(who: str, initial: object) -> ModelError:
    return ModelError(
        f"{who}(initial={shortened(initial)}): pass how many points to try first, or an array with "
        "one row per point, or a DataFrame whose columns are the variables"
    )


def check_design(initial: Initial, problem: Problem) -> None:
    """Raise ModelError if initial points are not points of a problem."""
    if isinstance(initial, InitialPoints):
        initial.points(problem)


def usual_points(entries: int) -> int:
    """How many points are tried first in a problem with so many entries of decisions."""
    return min(2 * (entries + 1), INITIAL_DESIGN.points)


def initial_points(situation: Situation, wanted: Initial) -> int:
    """How many points: as many as wanted, or 2 (n + 1) for n decisions, at most 20.

    Nobody wants to spend more than a third of the trials on them.
    """
    if wanted is not None:
        return len(wanted) if isinstance(wanted, InitialPoints) else wanted
    program = situation.problem.program
    usual = usual_points(program.size - len(unknown_entries(program)))
    if situation.remaining is None:
        return usual
    return max(1, min(usual, (situation.started + situation.remaining) // 3))


def still_initial(situation: Situation, wanted: Initial, learned: Collection[str]) -> bool:
    """Whether there is too little to learn from.

    Args:
        situation: The situation.
        wanted: The design that was asked for; None for the usual number of points.
        learned: Names of the black boxes whose hyper-parameters are learned.
    """
    if not learned:
        return False
    points = initial_points(situation, wanted)
    seen = [o.box for o in situation.history.loose]
    known = len(situation.history) + min(seen.count(name) for name in learned)
    # Answers that are still to come count, but they cannot be learned from.
    return known + len(situation.pending) < points or known < (points + 1) // 2


def initial_suggestion(situation: Situation, wanted: Initial = None) -> Suggestion:
    """The next point of the initial design: of the user's own, as long as it has more."""
    point = sobol_point(situation)
    if isinstance(wanted, InitialPoints):
        tried = [*situation.history, *situation.pending]
        place = sum(trial.suggestion.kind is TrialKind.INITIAL for trial in tried)
        own = wanted.points(situation.problem)[place + situation.incomplete :]
        point = own[0] if len(own) else point
        if np.isnan(point).any():
            point = with_likely_unknowns(situation.problem, situation.history, point)
    return Suggestion(TrialKind.INITIAL, point, pending=len(situation.pending))


def sobol_point(situation: Situation, is_exact: bool | None = None) -> Array:
    """The point that a scrambled Sobol sequence of the study's seed has for this trial.

    On the steps of its variables. Where these leave few points, it may be taken already, and then
    a later point of the sequence is used. Where linear inequalities of the variables leave only a
    part of the space, the sequence is one that fills this part. Elsewhere unknowns are where
    equations and, once they were spread, the latest answers put them.

    Args:
        situation: The situation.
        is_exact: Whether a point that was tried would give the same answers again; as declared by
            default.
    """
    problem, space = situation.problem, situation.problem.program.space
    looks = space.has_steps and (problem.is_exact if is_exact is None else is_exact)
    last = situation.started + 1 + (INITIAL_DESIGN.later_points if looks else 0)
    if is_restricted(problem.program):
        sequence = restricted_sequence(problem.program, situation.design_seed, last)
        points = list(sequence[situation.started :])
    else:
        size, seed = problem.program.size, situation.design_seed
        engine = torch.quasirandom.SobolEngine(size, scramble=True, seed=seed)
        lower, upper = space.search_lower, space.search_upper
        unit = engine.draw(last, dtype=torch.float64).numpy()[situation.started :]
        points = [space.spread(lower + (upper - lower) * row) for row in unit]
        points[0] = with_likely_unknowns(problem, situation.history, points[0], is_spread=True)
    taken = taken_designs(situation) if looks else []
    return next((p for p in points if not space.is_among(p, taken)), points[0])
