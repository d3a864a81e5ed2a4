"""An own acquisition function and own strategies."""

import numpy as np
import torch

import grisaille as gs

x = gs.Variable("x", 2, lower=-2, upper=2)


@gs.black_box(outputs=2, noise=0)
def plume(x):  # simulates two sensors
    return np.sin(x[0]) + x[1] ** 2, np.cos(x[0] * x[1])


y = plume(x)
problem = gs.Problem(minimize=(y[0] - 1) ** 2 + y[1] ** 2, subject_to=[y[1] + x[0] <= 0.9])


# An acquisition: what is known -> a function of design points, of which the largest value is tried.
def probability_of_improvement(knowledge: gs.Knowledge):
    def value(points):  # a PyTorch tensor (batch, n)
        objective, _ = knowledge.draw(points, samples=64)  # (64, batch)
        return torch.sigmoid((knowledge.best - objective) / 0.01).mean(0)

    return value


# A strategy: a situation -> a point. Randomness comes from the situation, so that it can replay.
class EpsilonGreedy(gs.Strategy):
    def __init__(self, every=3):
        self.every = every

    def suggest(self, situation: gs.Situation):
        if situation.started % self.every == self.every - 1:
            return situation.generator.uniform(situation.lower, situation.upper)
        return gs.Optimistic(solver=gs.MultiStart()).suggest(situation)


# A strategy that overrides everything: the believed best point, a probe of the black box at the
# best point so far to learn its noise, and a bound.
class Believer(gs.Strategy):
    def check(self, problem):
        if problem.causal is not None:
            raise gs.ModelError("Believer is not for interventions: use gs.MCBO()")

    def suggest(self, situation: gs.Situation):
        points = situation.generator.uniform(situation.lower, situation.upper, (500, 2))
        if len(situation.history) < 4:
            return gs.Suggestion(gs.TrialKind.INITIAL, points[0])
        knowledge = gs.Knowledge(situation)
        objective, constraints = knowledge.predict(torch.tensor(points))
        believed = torch.where((constraints <= 0).all(1), objective, torch.inf)
        best = situation.history.trials[knowledge.incumbent.position].x
        return gs.Suggestion(
            gs.TrialKind.RECOMMENDED,
            points[int(believed.argmin())],
            probes=(gs.Probe(call=0, inputs=best),),
        )

    def bound(self, situation: gs.Situation) -> gs.Bound:
        return gs.Bound(estimated=0.0, reason="a sum of squares")

    def incumbent(self, situation: gs.Situation) -> gs.Incumbent | None:
        return gs.Knowledge(situation, beta=3.0).incumbent


if __name__ == "__main__":
    for strategy in (gs.Acquisition(probability_of_improvement), EpsilonGreedy(), Believer()):
        study = gs.Study(problem, strategy=strategy)
        result = study.run(12, progress=False)
        print(f"{type(strategy).__name__:<13} misfit {result.fun:.1e} after {result.nit} trials")
        assert study.replay(9).x.tolist() == study.history.trials[8].x.tolist()
