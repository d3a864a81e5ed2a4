"""The pictures of a result."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

import grisaille as gs
from tests.study.study_helpers import parabola
from tests.views.inspection.inspection_helpers import two_boxes, with_choice

pytestmark = pytest.mark.slow


PICTURES = ["plot", "plot_slices", "plot_constraints", "plot_calibration", "plot_sensitivity"]


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_a_figure_that_a_notebook_shows_and_that_can_be_saved(name, tmp_path):
    path = tmp_path / "picture.png"
    figure = getattr(two_boxes(), name)(path=path)
    assert isinstance(figure, Figure)
    content, _ = figure._repr_png_()
    assert content.startswith(b"\x89PNG")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", PICTURES)
def test_a_path_that_cannot_be_written_is_named_with_its_method(name, tmp_path):
    with pytest.raises(gs.ModelError, match=rf"{name}\(path=.*No such file"):
        getattr(two_boxes(), name)(path=tmp_path / "missing" / "a.png")
    with pytest.raises(gs.ModelError, match=rf"{name}\(path=3\): pass the path of a picture"):
        getattr(two_boxes(), name)(path=3)


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_listed(name):
    assert name in dir(two_boxes())


def test_words_that_plot_does_not_know_are_refused():
    with pytest.raises(gs.ModelError, match=r"plot\(against='time'\): use 'trial' or 'cost'"):
        two_boxes().plot(against="time")
    with pytest.raises(gs.ModelError, match=r"plot\(scale='log2'\): use 'linear' or 'log'"):
        two_boxes().plot(scale="log2")


@pytest.mark.parametrize("name", ["plot_slices", "plot_calibration"])
def test_a_path_in_the_place_of_the_black_box_is_told_its_name(name):
    with pytest.raises(gs.ModelError, match=rf"write {name}\(path='a.png'\)"):
        getattr(two_boxes(), name)("a.png")
    with pytest.raises(gs.ModelError, match="there is no such black box, only"):
        getattr(two_boxes(), name)("a")


def test_the_axis_has_the_name_and_unit_of_the_objective():
    assert two_boxes().plot().axes[0].get_ylabel() == "objective (minimize)"
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: x, name="f", noise=0)(x)
    problem = gs.Problem(maximize=gs.named("profit", 3 * y, unit="$/s"))
    figure = problem.solve(3, strategy=gs.RandomSearch(), progress=False).plot()
    assert figure.axes[0].get_ylabel() == "profit in $/s (maximize)"


def test_a_black_box_can_be_passed_itself():
    result = with_choice()
    (box,) = result.problem.boxes
    assert result.plot_slices(box, "length").axes[0].get_ylabel() == "length"
    assert result.plot_calibration(box, 1).axes[0].get_title("left") == "rise: length"


@pytest.mark.parametrize("name", ["plot_slices", "plot_calibration"])
def test_a_black_box_that_does_not_exist_is_named(name):
    with pytest.raises(gs.ModelError, match=r"'steam'.*there is no such black box, only 'large'"):
        getattr(two_boxes(), name)("steam")


@pytest.mark.parametrize("name", ["plot_slices", "plot_calibration"])
@pytest.mark.parametrize("output", [1, "length", "x" * 5000])
def test_an_output_without_its_black_box_is_refused(name, output):
    with pytest.raises(gs.ModelError, match="pass the black box, too") as caught:
        getattr(two_boxes(), name)(output=output)
    assert len(str(caught.value)) < 500


def test_without_a_trial_pictures_say_so():
    empty = gs.Study(parabola()).result()
    assert empty.plot().axes[0].texts[0].get_text() == "no trial is complete"
    with pytest.raises(gs.ModelError, match="no trial is complete"):
        empty.plot_slices()


def test_a_result_without_a_black_box_has_a_picture():
    x = gs.Variable("x", lower=0, upper=1)
    result = gs.Problem(minimize=(x - 0.5) ** 2).solve()
    assert result.plot().axes
    assert result.plot_slices().axes
    assert result.plot_sensitivity().axes
