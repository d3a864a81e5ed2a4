"""A program on a cluster that sometimes crashes: two at a time, tried again, with a time limit.

An accident is tried again; where the program fails for good, the search keeps away. The study is a
file: run this again, from as many machines as you like, and it goes on where it stopped.
"""

import sys
import tempfile
from pathlib import Path

import grisaille as gs

PROGRAM = """
import json, pathlib, random, sys
x, y = json.load(open(sys.argv[1]))["inputs"][0]
if x > 1.6:
    sys.exit("the mesh is too coarse")  # always fails here
if random.random() < 0.3:
    sys.exit("lost a node")  # an accident
json.dump({"drag": (x - 1.2) ** 2 + 0.5 * (y + x - 2) ** 2, "lift": x * y}, open(sys.argv[2], "w"))
"""


def problem_for(program: Path) -> gs.Problem:
    shape = gs.Variable("shape", shape=2, lower=0, upper=2)
    run = gs.command(f"{sys.executable} {program} {{input}} {{output}}")
    wing = gs.BlackBox(run, name="wing", outputs=["drag", "lift"], timeout=30)
    y = wing(shape)
    return gs.Problem(minimize=y["drag"], subject_to=[y["lift"] >= 0.9])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "wing.py")
        program.write_text(PROGRAM)
        storage = f"sqlite:///{folder}/wing.db"
        study = gs.Study(problem_for(program), name="wing", storage=storage, retries=3)
        result = study.run(trials=14, workers=2, progress=False)
        print(result)
        for failure in result.failures:
            print("gave up:", failure.reason.splitlines()[-1])
