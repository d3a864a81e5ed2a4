"""Black boxes that are programs, and tools that evaluate points through gest-api."""

import sys
import tempfile
from pathlib import Path

import grisaille as gs

PROGRAM = """
import json, sys

point = json.load(open(sys.argv[1]))["inputs"][0]
heat, acid = point[0] + 0.5 * point[1], point[0] * point[1]
json.dump({"heat": heat, "acid": acid}, open(sys.argv[2], "w"))
"""

flow = gs.Variable("flow", shape=2, lower=0, upper=2)
strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick


def problem_for(program: str) -> gs.Problem:
    run = gs.command(f"{sys.executable} {program} {{input}} {{output}}")
    tank = gs.BlackBox(run, name="tank", outputs=["heat", "acid"], noise=0, timeout=30)
    heat, acid = tank(flow)
    return gs.Problem(minimize=(heat - 1) ** 2 - 0.1 * flow[1], subject_to=[acid <= 0.4])


def main(folder: str) -> gs.Result:
    Path(folder, "tank.py").write_text(PROGRAM)
    problem = problem_for(f"{folder}/tank.py")
    result = problem.solve(6, strategy=strategy, progress=False)
    print("with a program:", result.fun, result[flow])

    study = gs.Study(problem, strategy=strategy, evaluation="chained")
    generator = gs.Generator(study)  # follows the gest-api standard
    print("asked for:", generator.observables)
    for _ in range(3):
        points = generator.suggest(2)
        for point in points:
            point["heat"] = point["flow[0]"] + 0.5 * point["flow[1]"]
            point["acid"] = point["flow[0]"] * point["flow[1]"]
        generator.ingest(points)
    generator.finalize()
    print("with a generator:", study.result().fun, "in", len(study.history), "trials")

    try:
        gs.Study(problem, name="tank", storage=f"sqlite:///{folder}/no/such/folder/study.db")
    except gs.StorageError as error:
        print("storage:", str(error).replace(folder, "..."))
    return result


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        result = main(temporary)
