"""A look at what was learned of a black box."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas
import pytest
import torch
from botorch.models import SingleTaskGP
from markupsafe import escape
from scipy.stats import t as student

import grisaille as gs
from grisaille.belief import learning, predictions
from grisaille.belief.learning import believe
from grisaille.belief.processes.posterior import CondensedPosterior, Posterior
from grisaille.views.inspection import learned_model
from tests.study.study_helpers import QUICK

INPUTS = np.random.default_rng(2).uniform([0, 300], [1, 400], (9, 2))


def answers(inputs: np.ndarray, noise: float = 0.0) -> np.ndarray:
    added = noise * np.random.default_rng(3).normal(size=(len(inputs), 2))
    return np.column_stack([inputs[:, 0] ** 2, inputs[:, 1] / 100]) + added


def study_of(noise: float | None = 0.0, rows: np.ndarray = INPUTS, **options) -> gs.Study:
    c, temperature = gs.Variable("c", lower=0, upper=1), gs.Variable("T", lower=300, upper=400)
    reactor = gs.BlackBox(None, name="reactor", outputs=["A", "B"], noise=noise, **options)
    problem = gs.Problem(minimize=reactor(c, temperature)["A"])
    study = gs.Study(problem, strategy=QUICK)
    study.observe("reactor", rows, answers(rows, 0.05 if noise is None else noise))
    return study


def test_predictions_are_those_of_the_posterior_by_name():
    study = study_of(noise=0.1)
    model = study.model("reactor")
    assert (model.input_names, model.output_names) == (["c", "T"], ["A", "B"])
    points = pandas.DataFrame({"T": [310.0, 390.0], "c": [0.2, 0.7]})
    table = model.predict(points)
    parts = ("mean", "deviation", "lower", "upper")
    assert list(table.columns) == [f"{name} {part}" for name in "AB" for part in parts]
    surrogate = believe(study.problem.program, study.history)["reactor"]
    mean, deviation = surrogate.predict(torch.tensor([[0.2, 310.0], [0.7, 390.0]]).double())
    np.testing.assert_allclose(table[["A mean", "B mean"]], mean)
    np.testing.assert_allclose(table[["A deviation", "B deviation"]], deviation)
    width = student(surrogate.degrees(9)[0] - 1).ppf(0.975)  # 95 % at a point
    assert model.band_widths["A"] == pytest.approx(width)
    np.testing.assert_allclose(table["A upper"], (mean + width * deviation)[:, 0])
    pandas.testing.assert_frame_equal(model.predict([[0.2, 310.0], [0.7, 390.0]]), table)


def test_long_tables_are_predicted_in_parts_and_say_the_same(monkeypatch):
    study, points = study_of(), np.vstack([INPUTS, [0.5, 350.0]])
    whole, model = study.predict(points), study.model("reactor").predict(points)
    few = replace(predictions.PREDICTIONS, rows=4)
    monkeypatch.setattr(predictions, "PREDICTIONS", few)
    monkeypatch.setattr(learned_model, "PREDICTIONS", few)
    pandas.testing.assert_frame_equal(study.predict(points), whole, rtol=1e-6)
    pandas.testing.assert_frame_equal(study.model("reactor").predict(points), model, rtol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "columns"),
    [
        (gs.Linear().on(1) + gs.Matern().on(0), ["T", "c"]),
        (gs.Matern() + gs.Linear().on(0), ["c, part 1", "T, part 1", "c, part 2"]),
        (gs.Matern().on(0) * gs.Matern(), ["c, part 1", "c, part 2", "T, part 2"]),
    ],
)
def test_each_part_of_a_kernel_has_its_own_length_scales(kernel, columns):
    study = study_of(kernel=kernel)
    model = study.model("reactor")
    scales = model.lengthscales
    assert list(scales.columns) == columns
    learned = believe(study.problem.program, study.history)["reactor"].hyperparameters
    np.testing.assert_array_equal(scales, learned.lengthscale)
    assert f"{columns[-1]} {scales.loc['A', columns[-1]]:.3g}" in repr(model)


def test_hyper_parameters_are_in_the_users_units():
    model = study_of().model("reactor")
    scales = model.lengthscales
    assert list(scales.index) == ["A", "B"]
    assert list(scales.columns) == ["c", "T"]
    # A changes with c over a part of [0, 1], and B with T over a part of 100 degrees or more.
    assert scales.loc["A", "c"] < 10
    assert scales.loc["B", "T"] > 30
    assert model.noise.tolist() == [0.0, 0.0]
    assert (model.variance > 0).all()
    assert isinstance(model.kernel, gs.Matern)
    np.testing.assert_array_equal(model.data[["c", "T"]], INPUTS)
    np.testing.assert_array_equal(model.data[["A", "B"]], answers(INPUTS))


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_leaving_one_out_is_what_fitting_without_it_predicts(noise):
    study = study_of(noise=noise)
    table = study.model("reactor").leave_one_out()
    whole = believe(study.problem.program, study.history)["reactor"]
    assert isinstance(whole, Posterior)
    for row in range(len(INPUTS)):
        others = torch.arange(len(INPUTS)) != row
        parts = whole.kernel, whole.hyperparameters, whole.inputs[others], whole.outputs[others]
        mean, deviation = Posterior(*parts).predict(whole.inputs[row : row + 1])
        level = whole.regularization(whole.scaled)[:, row]
        spread = (deviation[0] ** 2 + level).sqrt()
        for output, name in enumerate("AB"):
            found = table.iloc[row]
            assert found[f"{name} mean"] == pytest.approx(mean[0, output].item(), abs=1e-6)
            assert found[f"{name} deviation"] == pytest.approx(spread[output].item(), rel=1e-4)
            error = (found[name] - found[f"{name} mean"]) / found[f"{name} deviation"]
            assert found[f"{name} error"] == pytest.approx(error)


def test_a_typing_error_stands_out_when_it_is_left_out():
    study = study_of(noise=0.02)
    study.observe("reactor", [[0.5, 350.0]], [[55.0, 3.5]])
    errors = study.model("reactor").leave_one_out()["A error"].abs()
    assert errors.idxmax() == len(INPUTS)


def test_a_summary_can_be_read():
    text = repr(study_of(noise=None).model("reactor"))
    assert text.splitlines()[0] == (
        "model of     black box 'reactor': a Gaussian process with a Matern kernel, "
        "hyper-parameters learned"
    )
    assert "answers      9" in text
    assert "bands        mean ± 2.3" in text
    assert "length-scales c " in text


def test_a_result_shows_the_same_model_and_names_inputs_by_the_variables():
    x = gs.Variable("x", 2, lower=0, upper=1)
    f = gs.BlackBox(None, name="f", noise=0)
    study = gs.Study(gs.Problem(minimize=f(x)))
    study.observe("f", [[0.1, 0.2], [0.5, 0.9]], [[1.0], [2.0]])
    assert study.result().model("f").input_names == ["x[0]", "x[1]"]
    g = gs.BlackBox(None, name="g", noise=0)
    study = gs.Study(gs.Problem(minimize=g(2 * x)))
    study.observe("g", [[0.1, 0.2]], [[1.0]])
    assert study.model(g).input_names == ["input[0]", "input[1]"]
    assert study.model(g).output_names == ["g"]


def test_an_own_model_predicts_and_says_what_it_does_not_have():
    x = gs.Variable("x", lower=0, upper=1)
    own = gs.BlackBox(None, name="own", model=SingleTaskGP)
    study = gs.Study(gs.Problem(minimize=own(x)))
    study.observe("own", [[0.1], [0.5], [0.9]], [[-1.0], [0.0], [1.0]])
    model = study.model("own")
    assert model.predict([[0.5], [0.6]]).shape == (2, 4)
    assert "your own, a SingleTaskGP" in repr(model)
    for look in (
        lambda: model.kernel,
        lambda: model.lengthscales,
        lambda: model.variance,
        lambda: model.noise,
        model.leave_one_out,
    ):
        with pytest.raises(gs.ModelError, match=r"model\('own'\) has no .* to show: its model"):
            look()


def test_a_box_without_inputs_is_described_by_its_answers():
    u = gs.exogenous(name="u", noise=0.5)
    x = gs.Variable("x", lower=0, upper=1)
    study = gs.Study(gs.Problem(minimize=(u - x) ** 2), strategy=gs.RandomSearch())
    study.observe("u", np.zeros((4, 0)), [[1.0], [2.0], [3.0], [6.0]])
    look = study.model("u")
    table = look.leave_one_out()
    assert table["u mean"].tolist() == pytest.approx([11 / 3, 10 / 3, 3, 2])
    assert table["u deviation"].tolist() == pytest.approx([0.5 * (4 / 3) ** 0.5] * 4)
    assert look.noise["u"] == 0.5
    assert "has no inputs" in repr(look)
    with pytest.raises(gs.ModelError, match="has no length-scales to show: it has no inputs"):
        look.lengthscales  # noqa: B018
    with pytest.raises(gs.ModelError, match="has no inputs: see its `data`"):
        look.predict([1.0])


def test_a_condensed_model_has_length_scales_but_leaves_nothing_out():
    rows = np.random.default_rng(4).uniform([0, 300], [1, 400], (260, 2))
    kernel = gs.SquaredExponential(lengthscale=[0.5, 50.0], variance=1.0)
    study = study_of(0.1, rows, process_noise=True, kernel=kernel)
    model = study.model("reactor")
    assert isinstance(believe(study.problem.program, study.history)["reactor"], CondensedPosterior)
    assert model.lengthscales.loc["A"].tolist() == [0.5, 50.0]
    assert model.noise.tolist() == pytest.approx([0.1, 0.1])
    assert model.predict([0.5, 350.0])["B mean"].item() == pytest.approx(3.5, abs=0.1)
    with pytest.raises(gs.ModelError, match="no leave-one-out predictions to show: it has 260"):
        model.leave_one_out()


def test_of_many_exact_answers_all_are_left_out_although_the_model_rests_on_some(monkeypatch):
    monkeypatch.setattr(learning, "_MANY_ROWS", 20)
    rows = np.random.default_rng(4).uniform([0, 300], [1, 400], (30, 2))
    study = study_of(rows=rows)
    whole = believe(study.problem.program, study.history)["reactor"]
    assert len(whole.inputs) < 30
    table = study.model("reactor").leave_one_out()
    np.testing.assert_array_equal(table[["A", "B"]], answers(rows))
    for row in range(30):
        others = (whole.inputs != torch.tensor(rows[row])).any(1)
        parts = whole.kernel, whole.hyperparameters, whole.inputs[others], whole.outputs[others]
        mean, deviation = Posterior(*parts).predict(torch.tensor(rows[row : row + 1]))
        level = whole.regularization(whole.scaled)[:, 0]
        spread = (deviation[0] ** 2 + level).sqrt()
        assert table[["A mean", "B mean"]].iloc[row].tolist() == pytest.approx(
            mean[0].tolist(), abs=1e-4
        )
        found = table[["A deviation", "B deviation"]].iloc[row].tolist()
        assert found == pytest.approx(spread.tolist(), rel=1e-3)


def test_mechanisms_of_a_causal_model_can_be_looked_at():
    u = gs.exogenous(lambda: 0.0, name="u", noise=0.5)
    f = gs.BlackBox(lambda u: np.sin(u), name="f", noise=0.1, process_noise=True)
    model = gs.Problem(minimize=f(u))
    problem = gs.causal_problem(model, [gs.do(u, lower=-1, upper=1)], seed=0)
    result = problem.solve(3, strategy=gs.RandomSearch(), progress=False)
    assert len(result.model("f").data) == 3
    with pytest.raises(gs.ModelError, match="this one is over interventions"):
        result.predict(problem.objective)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.5], r"model\('reactor'\).predict\(inputs\): x has shape \(1,\)"),
        ({"c": 0.5}, "there is no column 'T' among 'c'"),
        ({"c": 0.5, "T": 350, "p": 1}, "'p' is not: the inputs of black box"),
        ([0.5, np.inf], "T is inf"),
        ([0.5, 500.0], r"T = 500 is not in \[-inf, 450\]"),
    ],
)
def test_wrong_inputs_are_refused_by_name(given, message):
    model = study_of(input_upper=[10.0, 450.0]).model("reactor")
    with pytest.raises(gs.ModelError, match=message):
        model.predict(given)


def test_inputs_are_named_as_exports_name_them_and_found_in_any_order():
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(None, name="mixer", noise=0)
    study = gs.Study(gs.Problem(minimize=box(x[0], x[1])), strategy=gs.RandomSearch())
    study.observe("mixer", [[0.1, 0.2], [0.3, 0.9], [0.8, 0.4]], [1.0, 2.0, 3.0])
    model = study.model("mixer")
    assert model.input_names == ["x[0]", "x[1]"]
    expected = model.predict([0.5, 0.25])
    for table in (
        pandas.DataFrame({"x[1]": [0.25], "x[0]": [0.5]}),
        pandas.Series({"input[1]": 0.25, "x[0]": 0.5}),
        study.answers().iloc[:1][["x[1]", "x[0]"]].assign(**{"x[0]": 0.5, "x[1]": 0.25}),
    ):
        assert model.predict(table).equals(expected)
    with pytest.raises(gs.ModelError, match="the columns are numbered 1, 0, which is not"):
        model.predict(pandas.Series([0.25, 0.5], index=[1, 0]))


def test_an_unknown_black_box_is_refused_with_the_known_ones():
    with pytest.raises(gs.ModelError, match=r"model\('oven'\): .* only 'reactor'"):
        study_of().model("oven")


def test_bands_reach_as_far_as_the_model_says():
    model = study_of().model("reactor")
    table = model.predict(model.data[model.input_names].iloc[:1] + 0.05)
    for name, width in model.band_widths.items():
        reach = width * table[f"{name} deviation"]
        assert np.allclose(table[f"{name} mean"] + reach, table[f"{name} upper"])


def test_a_notebook_shows_what_is_printed():
    model = study_of().model("reactor")
    shown = model._repr_html_()
    for line in repr(model).splitlines():
        assert escape(line[13:]) in shown
