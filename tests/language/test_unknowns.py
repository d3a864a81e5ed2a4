"""Unknowns, and the equations that determine them."""

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.language.fingerprint import fingerprint
from grisaille.language.unknowns import read_by_boxes


def sides(**options):
    x = gs.Variable("x", lower=0, upper=1)
    t = gs.Unknown("t", lower=0, upper=10, **options)
    return x, t, gs.BlackBox(lambda x, t: x + t / 2, name="phi", noise=0)


def test_an_equation_is_the_same_in_equations_and_in_subject_to():
    x, t, phi = sides()
    one = gs.Problem(minimize=x + t, equations=[t == phi(x, t)])
    other = gs.Problem(minimize=x + t, subject_to=[t == phi(x, t)])
    assert repr(one) == repr(other)
    assert one.constraint_names == other.constraint_names
    assert len(one.constraint_names) == 2  # an equality is two inequalities


def test_the_tolerance_of_an_equation_is_a_part_of_the_range_of_its_unknown():
    x, t, phi = sides()
    assert gs.Problem(minimize=x, equations=[t == phi(x, t)]).tolerances == pytest.approx(1e-5)
    wide = gs.Unknown("wide", lower=0, upper=1000)
    assert gs.Problem(minimize=x, equations=[phi(x, wide) == wide]).tolerances == pytest.approx(
        0.001
    )
    given = gs.Problem(minimize=x, equations={"e": t == phi(x, t)}, feasibility_tol={"e": 0.5})
    assert given.tolerances == pytest.approx(0.5)


def test_an_unknown_that_no_equation_determines_is_named():
    x, t, phi = sides()
    with pytest.raises(
        ModelError, match=r"unknown 't' has 1 number and is read by 0 equations.*t =="
    ):
        gs.Problem(minimize=phi(x, t))
    pair = gs.Unknown("pair", shape=2, lower=0, upper=1)
    box = gs.BlackBox(lambda p: p[0], name="box", noise=0)
    with pytest.raises(ModelError, match=r"unknown 'pair' has 2 numbers .*do not determine it"):
        gs.Problem(minimize=x, equations=[pair[0] == box(pair)])


def test_two_equations_of_one_unknown_do_not_determine_another():
    x, t, phi = sides()
    u = gs.Unknown("u", lower=0, upper=1)
    with pytest.raises(ModelError, match="unknown 'u' has 1 number and is read by 0 equations"):
        gs.Problem(minimize=x + u, equations=[t == phi(x, t), t**2 == x])


def test_an_equation_without_unknowns_is_refused_by_its_text():
    x, t, phi = sides()
    with pytest.raises(ModelError, match=r"equation x\*\*2 == 0.5 reads no unknown"):
        gs.Problem(minimize=x, equations=[t == phi(x, t), x**2 == 0.5])
    with pytest.raises(ModelError, match="an equation is written a == b"):
        gs.Problem(minimize=x, equations=[t <= phi(x, t)])


def test_unknowns_that_black_boxes_read_are_told_from_others():
    x, t, phi = sides()
    v = gs.Unknown("v", lower=0, upper=1)
    problem = gs.Problem(minimize=v, equations=[t == phi(x, t), v**3 + v == phi(x, t)])
    assert read_by_boxes(problem.program) == {t}


def test_the_diagram_shows_the_loop_and_what_is_torn():
    x, t, phi = sides()
    v = gs.Unknown("v", lower=0, upper=1)
    text = gs.Problem(minimize=v, equations=[t == phi(x, t), v == np.sqrt(phi(x, t))]).diagram()
    assert "(~)  t in [0, 10], torn stream   <- " in text
    assert "(~)  v in [0, 1], solved for   <- " in text
    assert "(too large)" not in text  # an equality is drawn once


@pytest.mark.parametrize(
    ("format", "arrow", "mark"),
    [("mermaid", "n2 --> n1", ":::unknown"), ("dot", "n2 -> n1;", "dashed")],
)
def test_pictures_have_an_arrow_back_to_the_torn_stream(format, arrow, mark):
    x, t, phi = sides()
    text = gs.Problem(minimize=x, equations=[t == phi(x, t)]).diagram(format)
    torn = next(line for line in text.splitlines() if "torn stream" in line)
    assert torn.split()[0].startswith("n1")
    assert mark in torn
    assert arrow in text  # from the black box to what it reads itself
    assert arrow.replace("n2", "n?").replace("n1", "n2").replace("n?", "n1") in text


def test_strategies_that_know_no_equations_say_so():
    x, t, phi = sides()
    problem = gs.Problem(minimize=phi(x, t), equations=[t == phi(x, t)])
    for strategy in (gs.EIFN(), gs.EICF(), gs.CUQB(), gs.CONFIG(), gs.LogEI()):
        with pytest.raises(ModelError, match="knows no equations, and 't' is an unknown"):
            problem.solve(5, strategy=strategy, progress=False)


@pytest.mark.parametrize("wrong", [1.0, -0.1, 2, float("nan"), "0.5", True])
def test_a_contraction_is_a_part_below_one(wrong):
    with pytest.raises(ModelError, match=r"unknown 't' has contraction=.*at least 0 and below 1"):
        gs.Unknown("t", lower=0, upper=1, contraction=wrong)


def test_a_contraction_is_part_of_the_problem():
    def lines(contraction):
        x, t, phi = sides(contraction=contraction)
        return fingerprint(gs.Problem(minimize=x, equations=[t == phi(x, t)]))

    assert not any("contraction" in line for line in lines(None))
    assert "variable t: lower 0.0, upper 10.0, unknown True, contraction 0.5" in lines(0.5)


def test_an_unknown_is_another_problem_than_a_decision_of_the_same_name():
    x, t, phi = sides()
    decision = gs.Variable("t", lower=0, upper=10)
    tolerance = {"feasibility_tol": 1e-4}
    one = gs.Problem(minimize=x + t, subject_to=[t == phi(x, t)], **tolerance)
    other = gs.Problem(
        minimize=x + decision, subject_to=[decision == phi(x, decision)], **tolerance
    )
    assert fingerprint(one) != fingerprint(other)
