"""The audit of the bands: how well they predicted the answers so far.

Every answer after the initial design is compared with what was predicted for it just before: its
error is divided by the standard deviation that the prediction had. Bands that are right leave few
errors beyond two deviations, and none far beyond.

The audit is derived from the history, not stored: each answer is predicted again from what was
known before it. So a resumed study gets the same factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from scipy.special import bdtr, ndtr, ndtri

from grisaille.array_types import Array
from grisaille.belief.learning import Beliefs, believe, input_range, noise_of
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.posterior import NoFactorError
from grisaille.belief.rules import CONFIDENCE, BandRule, plausible_set
from grisaille.belief.simultaneous import Simultaneous, Tested, count_regions, unit_points
from grisaille.language.black_box import BlackBox
from grisaille.language.program import Program
from grisaille.records import REFUTED, TESTED, History, Observation, Trial

# Of long studies, at least so many of the latest answers count, and less than twice as many: what
# was learned from the first ones says little about the bands of today.
_AT_LEAST = 100

DOUBT = 2.0
"""By how much audited bands are widened before a closed gap, or infeasibility, is believed."""

MARGIN = 1.0
"""By how many standard deviations more bands must leave no feasible point before it is believed.

Without it the least violation may be a matter of digits.
"""

# How wide the bands of a given kernel are at least for a bound, in deviations: at each point two
# deviations are enough, but the bound needs bands that hold everywhere at once.
_EVERYWHERE = 3.0
# The part of normal numbers beyond each end of a band of two deviations.
_OUTSIDE = 0.025
# Calibration is poor if chance leaves so few answers inside with less than this probability. Of 20
# trials of noisy functions with noise=0, 29 of 32 studies are below it (25 below 1e-3), and of
# functions without noise none of 32, nor any of 32 black boxes of the collection.
_CHANCE = 0.01
# Points that show how large deviations are over the range of the inputs.
_PLACES = 64


@dataclass(frozen=True, slots=True)
class BoxCalibration:
    """How well the bands of one black box predicted its answers.

    Attributes:
        box: Its name.
        answers: How many answers were predicted: those after the initial design.
        inside: How many of them lie inside the band that predicted them, with all their outputs.
        largest: The largest error, in the standard deviations predicted for it.
        factor: By how much its bands must be wider so that all answers would have been inside; at
            least 1.
        conclusions: What was concluded while learning it, such as whether it is noisy.
        complaint: Why its answers speak against its declared noise, or against its kernel; empty
            if they do not.
        weight: How many answers far from all others would have tested as much. An answer next to
            others could hardly be wrong: it counts by its deviation, in parts of the largest one.
        reach: The half-width of its bands behind the bound, in deviations; NaN without a bound.
    """

    box: str
    answers: int
    inside: int
    largest: float
    factor: float
    conclusions: tuple[str, ...] = ()
    complaint: str = ""
    weight: float = 0.0
    reach: float = np.nan


@dataclass(frozen=True, slots=True)
class Audited(BandRule):
    """Bands of a constant half-width, widened by what their audit found.

    Attributes:
        beta: The half-width in posterior standard deviations.
        widening: A further factor, to doubt what these bands say.
        margin: How many standard deviations further they reach then.
        confidence: The chance that they hold everywhere at once, for which they may have to be
            wider; None if they need not.
    """

    beta: float
    widening: float = 1.0
    margin: float = 0.0
    confidence: float | None = None

    @property
    def _width(self) -> float:
        """The half-width before the audit."""
        return self.beta

    @property
    def _confidence(self) -> float:
        """The chance that the bands hold at once."""
        return CONFIDENCE if self.confidence is None else self.confidence

    def plausible_set(self, program: Program, history: History) -> PlausibleSet:
        """The plausible set after a history."""
        plausible = plausible_set(program, history, self.beta)
        tested = audited_answers(program, history, plausible.beliefs)
        factors = widening_factors(program, {n: t.errors for n, t in tested.items()}, self.beta)
        wider = plausible.scaled({name: self.widening * f for name, f in factors.items()})
        wider = wider.widened(self.margin) if self.margin else wider
        if self.confidence is None:
            return wider
        return Simultaneous(wider, tested, history, self.beta, self.confidence).everywhere()


def widening_factors(
    program: Program, errors: Mapping[str, Array], beta: float
) -> dict[str, float]:
    """By how much to widen the bands of each black box: as far as its largest error reached.

    max(1, largest error / beta). Learned bands are narrow where answers are, and errors show when
    they are wrong. A given kernel is right by assumption, and no error shows that a band which
    holds at each point need not hold at all points together: it is widened in any case.

    Args:
        program: Whose black boxes.
        errors: Standardized errors (answers, k) of each black box.
        beta: Half-width of the bands.
    """
    least = {
        box.name: 1.0 if box.is_learned else max(1.0, _EVERYWHERE / beta) for box in program.boxes
    }
    return {n: max(least[n], float(e.max(initial=0.0)) / beta) for n, e in errors.items()}


def noise_complaint(box: BlackBox, answers: int, inside: int, beta: float) -> str:
    """Return why predicted answers speak against the declared noise of a black box, or "".

    An answer lies inside its band with all k outputs with a chance of at least
    p = (2 Phi(beta) - 1)^k, so the number inside is at least binomial (Šidák). Answers that vary at
    one point, while noise=0 says that they do not, leave fewer inside than that explains.

    Args:
        box: The black box.
        answers: How many of its answers were predicted.
        inside: How many of them lie inside the band that predicted them.
        beta: Half-width of the bands.
    """
    if box.noise is None or not answers:
        return ""
    within = float(ndtr(beta) - ndtr(-beta)) ** box.outputs
    if bdtr(inside, answers, within) >= _CHANCE:
        return ""
    levels = np.unique(box.noise)
    declared = f"noise={levels[0]:g}" if len(levels) == 1 else "noise="
    vary = f"answers of black box {box.name!r} vary{'' if box.is_exact else ' more'}"
    remedy = f"leave {declared} out" if box.is_learned else f"declare more than {declared}"
    return f"calibration is poor: if {vary} at the same point, {remedy}"


def kernel_complaint(box: BlackBox, factor: float, answers: int) -> str:
    """Return why predicted answers refute the kernel of a black box, or "".

    Args:
        box: The black box.
        factor: By how much its bands would have to be wider to hold all answers.
        answers: How many of its answers were predicted.
    """
    if not factor > REFUTED:
        return ""
    if box.is_learned and answers < TESTED:  # first answers often lie far out, and soon teach it
        return (
            f"the bands of black box {box.name!r} are untested ({answers} of {TESTED} answers "
            f"predicted), and an answer lay {factor:.2g} times as far out as they reach: more "
            "trials tell"
        )
    noisy = "leave noise=0 out if answers vary at the same point, or " if box.is_exact else ""
    return (
        f"an answer of black box {box.name!r} lay {factor:.2g} times as far out as its bands "
        f"reach, which refutes them: {noisy}pass a kernel with shorter length-scales, such as "
        "kernel=gs.Matern(2.5, lengthscale=...)"
    )


def standardized_errors(program: Program, history: History, beliefs: Beliefs) -> dict[str, Array]:
    """Return the error of every predicted answer in the deviations predicted for it, by black box.

    Args:
        program: Whose black boxes.
        history: Their answers.
        beliefs: What is believed of them now. Noise that shows only later explains early errors.

    Returns:
        Absolute values, (answers, k) for each black box. With noise, the deviation is that of an
        answer, noise included.
    """
    return {n: test.errors for n, test in audited_answers(program, history, beliefs).items()}


def audited_answers(program: Program, history: History, beliefs: Beliefs) -> dict[str, Tested]:
    """Return the audit of each black box: arguments as for `standardized_errors`."""
    noise = {box.name: noise_of(box, beliefs[box.name]) for box in program.boxes}
    return {box.name: _tested(program, box, history, noise[box.name]) for box in program.boxes}


def _tested(program: Program, box: BlackBox, history: History, noise: tuple[float, ...]) -> Tested:
    """Return the audit of one black box."""
    parts = [Tested.none(box.outputs)]
    trials = history.predicted(box.name)
    skipped = (len(trials) // _AT_LEAST - 1) * _AT_LEAST
    chance = _expected_largest(box, noise)
    if skipped > 0:
        return _latest(program, box, history, trials[skipped], noise).over(chance)
    for trial in trials:
        before = _of(box, history.before(trial).observations())
        if before:
            data = _as_bytes(before), _as_bytes(_of(box, trial.observations))
            found = _prediction(program, box.name, *data)
            level = np.maximum(found.noise, noise)
            parts.append(found.tested(found.errors / np.sqrt(found.deviation**2 + level**2)))
    return Tested.joined(parts).over(chance)


def _expected_largest(box: BlackBox, noise: tuple[float, ...]) -> float:
    """How large the largest of many noisy errors is by chance, in those of a single one.

    A curve of a thousand numbers with noise leaves some of them beyond two deviations whatever the
    band is: q(1 - 0.025 / k) / q(0.975) with q the quantiles of a normal number. Errors without
    noise go together, so that nothing is expected of their number.
    """
    if not (box.shared_kernel and any(noise)):
        return 1.0
    ends = ndtri(1 - _OUTSIDE / box.outputs), ndtri(1 - _OUTSIDE)
    return float(ends[0] / ends[1])


def _latest(
    program: Program, box: BlackBox, history: History, first: Trial, noise: tuple[float, ...]
) -> Tested:
    """Return the audit of the answers from a trial on.

    They are predicted with what was learned just before that trial, and each from all answers
    before its own trial.
    """
    before = _of(box, history.before(first).observations())
    base = _belief(program, box.name, _as_bytes(before))
    level = np.maximum(noise_of(box, base), noise)
    later = [trial for trial in history if trial.number >= first.number]
    parts = [_of(box, trial.observations) for trial in later]
    rows = [o for part in parts for o in part]
    x = torch.tensor(np.array([o.inputs for o in rows]))
    y = torch.tensor(np.array([o.outputs for o in rows]))
    try:
        error, deviation = base.in_turn(x, y, [len(part) for part in parts])
    except NoFactorError:
        with torch.no_grad():
            mean, spread = base.predict(x)
        error, deviation = (y - mean).abs().numpy(), spread.numpy()
    predicted = {id(trial) for trial in history.predicted(box.name)}
    counts = [id(t) in predicted for t, part in zip(later, parts, strict=True) for _ in part]
    found = _Prediction.of(program, box, base, before, error[counts], deviation[counts])
    return found.tested(found.errors / np.sqrt(found.deviation**2 + level**2))


def _of(box: BlackBox, observations: Iterable[Observation]) -> list[Observation]:
    return [o for o in observations if o.box == box.name]


def _as_bytes(observations: list[Observation]) -> bytes:
    rows = [np.concatenate([o.inputs, o.outputs]) for o in observations]
    return np.array(rows, dtype=float).tobytes()


@dataclass(frozen=True, slots=True)
class _Prediction:
    """Answers that were predicted from those before them.

    Attributes:
        errors: Absolute errors, (answers, k).
        deviation: Standard deviations without the noise of an answer, (answers, k).
        noise: Standard deviation of the noise as it was believed then, (k,).
        degrees: How many independent values the answers before told, (k,).
        regions: In how many regions each output varied independently then, (k,).
        largest: The largest deviation of each output over the range of the inputs, (k,).
    """

    errors: Array
    deviation: Array
    noise: tuple[float, ...]
    degrees: Array
    regions: Array
    largest: Array

    @classmethod
    def of(
        cls,
        program: Program,
        box: BlackBox,
        belief: Belief,
        before: list[Observation],
        errors: Array,
        deviation: Array,
    ) -> _Prediction:
        """Return predictions by what was believed after `before`."""
        inputs = np.array([o.inputs for o in before])
        unit = unit_points(max(box.inputs, 1), _PLACES)[:, : box.inputs].numpy()
        lower, upper = input_range(program, box, inputs) if box.inputs else (0.0, 0.0)
        with torch.no_grad():
            _, spread = belief.predict(torch.tensor(lower + (upper - lower) * unit))
        largest = np.maximum(spread.amax(0).numpy(), deviation.max(0, initial=0.0))
        regions = count_regions(program, box, belief, inputs)
        noise = noise_of(box, belief)
        degrees = np.broadcast_to(belief.degrees(len(before)), regions.shape)
        return cls(errors, deviation, noise, degrees, regions, largest)

    def tested(self, errors: Array) -> Tested:
        """Return the audit of these answers, with their standardized errors."""
        many = len(errors)
        weights = (self.deviation / np.maximum(self.largest, 1e-300)).max(1, initial=0.0)
        return Tested(
            errors, np.tile(self.degrees, (many, 1)), np.tile(self.regions, (many, 1)), weights
        )


@lru_cache(maxsize=8192)  # each decision asks again about all earlier answers
def _prediction(program: Program, name: str, before: bytes, answers: bytes) -> _Prediction:
    """Predict answers from those before them."""
    box = next(b for b in program.boxes if b.name == name)
    earlier, later = _observations(box, before), _observations(box, answers)
    belief = _belief(program, name, before)
    states = torch.tensor(np.array([o.inputs for o in later]))
    with torch.no_grad():
        mean, deviation = belief.predict(states)
    errors = np.abs(np.array([o.outputs for o in later]) - mean.numpy())
    return _Prediction.of(program, box, belief, list(earlier), errors, deviation.numpy())


@lru_cache(maxsize=8)  # the latest answers of a long study are predicted from the same ones
def _belief(program: Program, name: str, before: bytes) -> Belief:
    """What was believed of a black box after its answers."""
    box = next(b for b in program.boxes if b.name == name)
    return believe(program, History(loose=_observations(box, before)), only=[name])[name]


def _observations(box: BlackBox, data: bytes) -> tuple[Observation, ...]:
    inputs = box.inputs
    rows = np.frombuffer(data).reshape(-1, inputs + box.outputs)
    return tuple(Observation(box.name, row[:inputs], row[inputs:]) for row in rows)
