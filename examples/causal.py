"""Choose what to set in a causal system: interventions, a hidden cause, observational data."""

import numpy as np

import grisaille as gs


def yield_of_the_plant(values, generator):
    """One run of the real system: takes what is set, by name, and returns every variable."""
    weather = generator.standard_normal()  # hidden: it acts on the feed and on the yield
    feed = values.get("feed", weather + 0.5 * generator.standard_normal())
    heat = values.get("heat", np.exp(-feed) + 0.3 * generator.standard_normal())
    loss = np.cos(heat) - heat / 4 + 0.5 * weather + 0.3 * generator.standard_normal()
    return {"feed": feed, "heat": heat, "loss": loss}


# The model: each variable is a black box of its causes, and its noise acts downstream.
feed = gs.exogenous(name="feed")
heat = gs.BlackBox(None, name="heat", process_noise=True)(feed)
# The natural feed carries information about the hidden weather; a feed that is set does not.
loss = gs.BlackBox(None, name="loss", process_noise=True)(heat, gs.natural(feed))
model = gs.Problem(minimize=loss)

set_feed: gs.Do = gs.do(feed, lower=-1, upper=2)
set_heat = gs.do(heat, lower=-1, upper=6)

generator = np.random.default_rng(0)
watched = [yield_of_the_plant({}, generator) for _ in range(60)]
observations = {name: [row[name] for row in watched] for name in watched[0]}

problem = gs.causal_problem(
    model,
    [set_feed, set_heat],
    system=yield_of_the_plant,
    runs=10,
    observations=observations,
    seed=0,
)

if __name__ == "__main__":
    print(gs.intervene(model, set_feed))  # the model after the feed is set
    result = problem.solve(8, strategy=gs.MCBO(), seed=0, progress=False)
    causal: gs.CausalModel = problem.causal
    print("best:", causal.describe(result.x), f"expected loss {result.fun:.2f}")
    print(f"no intervention is expected to reach less than {result.lower_bound:.2f}")
