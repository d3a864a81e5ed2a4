"""Verdicts without a Gaussian process: what is declared about a black box is enough for a proof."""

import numpy as np

import grisaille as gs

dose = gs.Variable("dose", lower=0, upper=4)


@gs.black_box(noise=0, monotone="increasing", lipschitz=1.0)  # more helps, at most 1 per unit
def effect(dose):
    return dose / (1 + dose)


@gs.black_box(noise=0, monotone="increasing", lipschitz=0.5)
def harm(dose):
    return 0.02 * dose**2


benefit = effect(dose) - harm(dose)
problem = gs.Problem(maximize=benefit)
impossible = gs.Problem(maximize=benefit, subject_to=[effect(dose) >= 0.7, harm(dose) <= 0.05])

if __name__ == "__main__":
    strategy = gs.Optimistic(beta=gs.Declared(), solver=gs.Certified(absolute_gap=0.005))
    result = problem.solve(40, strategy=strategy, gap_tol=0.05, progress=False)
    print(result)
    doses = np.linspace(0, 4, 1001)
    assert result.certified
    assert result.status == gs.Status.OPTIMAL
    assert result.lower_bound <= max(effect(d) - harm(d) for d in doses) <= result.upper_bound

    result = impossible.solve(40, strategy=strategy, progress=False)
    print(result)
    assert result.status == gs.Status.INFEASIBLE
    assert result.certificate.verify()
    print("not together     ", result.certificate.blame())
