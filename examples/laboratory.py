"""A laboratory: other people evaluate over several days, and a file keeps the study."""

import tempfile

import numpy as np
import pandas

import grisaille as gs

recipe = gs.Variable("recipe", shape=2, lower=[20, 0.5], upper=[80, 4.0])  # °C, hours
synthesis = gs.BlackBox(None, name="synthesis", outputs=["product", "acid"], noise=0)
purification = gs.BlackBox(None, name="purification", noise=0)

batch = synthesis(recipe)
loss = purification(batch["acid"])  # what purification costs depends on the acid
problem = gs.Problem(
    maximize=100 * batch["product"] - loss - 3 * recipe[1], subject_to=[batch["acid"] <= 0.5]
)
strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick


def laboratory(query: gs.Query):
    """Stands for the people at the bench, who see the black box and its arguments."""
    if query.box == "purification":
        return 4 + 20 * query.arguments[0] ** 2
    celsius, hours = query.arguments[0]
    if celsius > 75:
        raise RuntimeError("the batch boiled over")
    rate = np.exp(0.05 * (celsius - 50))
    return {"product": 1 - np.exp(-rate * hours), "acid": 0.05 * rate * hours}


def open_study(folder: str) -> gs.Study:
    storage = f"sqlite:///{folder}/laboratory.db"
    return gs.Study(
        problem, name="spring", storage=storage, strategy=strategy, evaluation="chained"
    )


def main(folder: str) -> None:
    with open_study(folder) as study:
        last_year = pandas.DataFrame(
            {
                "recipe[0]": [35, 55],
                "recipe[1]": [2, 2],
                "product": [0.61, 0.92],
                "acid": [0.05, 0.13],
            }
        )
        print("answers of last year:", study.observe("synthesis", last_year))

    for day in range(1, 11):
        with open_study(folder) as study:  # in the morning, in one process
            queries = study.ask(2, trials=8)
        with open_study(folder) as study:  # in the evening, in another
            for query in queries:
                record(day, study, query)

    with open_study(folder) as study:
        failure: gs.Failure
        for failure in study.failures:
            print(f"trial {failure.trial}: {failure.reason} at {failure.inputs.round(1)}")
        trial = study.history.trials[-1]
        again = study.replay(trial.number)  # computes the same decision again
        print("the same decision:", np.array_equal(again.x, trial.x))
        print(study.result())


def record(day: int, study: gs.Study, query: gs.Query) -> None:
    try:
        answer = laboratory(query)
    except RuntimeError as error:
        again = study.fail(query, str(error))
        print(f"day {day}: {query.id} failed, will be asked again: {again}")
        return
    trial = study.tell(query, answer, seconds=6 * 3600)
    if trial is not None:  # this answer completed the trial
        # A trial's objective is minimized, so the sign of a maximized profit is flipped.
        print(f"day {day}: trial {trial.number} earns {-trial.objective:.2f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(temporary)
