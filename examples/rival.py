"""The same problem as a grey box and as a black box: only the strategy changes."""

import grisaille as gs
from grisaille.lab.problems.paper_examples import KERNEL

known = gs.problems.lp_with_embedded_gp(seed=2)  # an instance of the paper's experiment
problem = known.problem

if __name__ == "__main__":
    print(gs.collapse(problem).diagram())
    for strategy in (
        gs.Optimistic(beta=1.5, exploit=False),
        gs.CONFIG(beta=1.5, exploit=False, kernel=KERNEL),
    ):
        result = problem.solve(10, strategy=strategy, progress=False)
        metrics = result.metrics(known.optimum)
        print(
            f"{type(strategy).__name__:<10}",
            f"constrained regret {metrics.constrained_regret[-1]:.2e},",
            f"cumulative positive regret {metrics.cumulative_positive_regret[-1]:.2f},",
            f"violations {metrics.cumulative_violations[-1].round(2)}",
        )
