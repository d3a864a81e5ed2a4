"""What is known when a decision is made, worked out once and handed on."""

from __future__ import annotations

from functools import cached_property, lru_cache

from grisaille.confidence.beliefs import Beliefs
from grisaille.confidence.failures import FailedInputs
from grisaille.confidence.incumbent import Incumbent, find_incumbent
from grisaille.confidence.pending import with_pending
from grisaille.confidence.plausible_set import Beta, PlausibleSet, plausible_set
from grisaille.language.program import Program
from grisaille.records import History, Situation

CONFIDENCE = 2.0
"""Half-width of the bands that judge noisy trials, for strategies that have no beta."""

# A decision, the line of a table and a result ask about one history: it is learned once.
_learned_once = lru_cache(maxsize=2)(plausible_set)


class Knowledge:
    """What a strategy knows in a situation. Each part is worked out when it is first used.

    Args:
        situation: The situation.
        beta: Half-width of the confidence bands.
    """

    def __init__(self, situation: Situation, beta: Beta = CONFIDENCE) -> None:
        self.situation = situation
        self.beta = beta

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
        return any(box.is_learned for box in self.program.boxes)

    @cached_property
    def answered(self) -> PlausibleSet:
        """The plausible set after all answers (Eq. mean_cov, Def. hpb_int)."""
        return _learned_once(self.program, self.history, self.beta, self.situation.at_once)

    @cached_property
    def beliefs(self) -> Beliefs:
        """A surrogate for each black box, as if pending evaluations had come out as predicted."""
        beliefs, pending = self.answered.beliefs, self.situation.pending
        return with_pending(self.program, beliefs, pending) if pending else beliefs

    @cached_property
    def plausible(self) -> PlausibleSet:
        """The plausible set, as if pending evaluations had come out as predicted."""
        return PlausibleSet(self.program, self.beliefs, self.answered.beta)

    @cached_property
    def incumbent(self) -> Incumbent | None:
        """The best point tried; None before the first trial.

        Where observations are noisy, posterior means judge. A system over interventions answers
        with every variable of every run; their average counts, which a trial has already.
        """
        problem = self.situation.problem
        exact = not len(self.history) or problem.is_exact or problem.causal is not None
        return find_incumbent(self.history, None if exact else self.answered)

    @cached_property
    def failures(self) -> FailedInputs | None:
        """Where black boxes failed; None if none did."""
        failed = FailedInputs(self.program, self.history) if self.history.failures else None
        return failed or None
