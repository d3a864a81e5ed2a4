"""Certified bounds: an optimum to a certified gap, and evidence that a problem is infeasible."""

import numpy as np

import grisaille as gs

kernel = gs.SquaredExponential(lengthscale=[1.2, 1.0], variance=1.0)
x = gs.Variable("x", 2, lower=-1, upper=1)


@gs.black_box(noise=0, kernel=kernel)  # the kernel is given, so nothing is learned
def yield_of(x):
    return np.exp(-((x[0] - 0.4) ** 2) - (x[1] + 0.3) ** 2)


@gs.white_box(lipschitz=0.5)  # cheap and known; lipschitz= says how fast it can change
def penalty(a):
    return 0.5 * np.sin(a)


y = yield_of(x)
profit = 10 * y - y**2 - penalty(x[0])
problem = gs.Problem(maximize=profit, subject_to=[x[0] + x[1] <= 0.5])
impossible = gs.Problem(maximize=profit, subject_to=[y >= 0.9, x[0] <= -0.5, x[1] <= 0.5])

if __name__ == "__main__":
    strategy = gs.Optimistic(solver=gs.Certified(absolute_gap=0.05))
    result = problem.solve(6, strategy=strategy, progress=False)
    print(result)
    # Searched everywhere; "proved" would need bands that hold by declared constants.
    assert result.assurance == gs.Assurance.CERTIFIED
    for row in result.calibration:  # how well the bands predicted the answers
        assert isinstance(row, gs.BoxCalibration)
        print(f"{row.box}: {row.inside} of {row.answers} inside, worth {row.weight:.1f} tests")
        print(f"the bound reaches {row.reach:.1f} deviations")
    surer = problem.solve(6, strategy=strategy, confidence=0.999, progress=False)
    assert surer.upper_bound >= result.upper_bound  # more confidence, wider bands, the same trials

    result = impossible.solve(30, stop_if_infeasible=True, progress=False)
    print(result)
    assert result.p_infeasible > 0.9
    assert result.certificate.confidence == 0.95
    assert result.status == gs.Status.LIKELY_INFEASIBLE
    certificate = result.certificate
    assert isinstance(certificate, gs.Certificate)
    print("regions          ", len(certificate.regions))
    print("least violation  ", certificate.least_violation)
    print("not together     ", certificate.blame())
    print("checked again    ", certificate.verify())
