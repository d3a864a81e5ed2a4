"""The paper's algorithm: which points are tried, and why."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille import problems
from grisaille.belief.audit import Audited
from grisaille.language.fingerprint import fingerprint
from grisaille.records import Situation, Suggestion, TrialKind

pytestmark = pytest.mark.slow


KERNEL = gs.SquaredExponential(lengthscale=0.7, variance=0.5)
SEARCH = gs.MultiStart(starts=8, samples=512, iterations=30)


def two_layers(**options: object) -> gs.Problem:
    x = gs.Variable("x", 2, lower=-2, upper=2)
    inner = gs.BlackBox(lambda x: np.sin(x[0]) * x[1] / 2, name="inner", noise=0, kernel=KERNEL)
    outer = gs.BlackBox(np.cos, name="outer", **{"noise": 0, "kernel": KERNEL, **options})
    return gs.Problem(minimize=outer(inner(x) ** 2))


def test_given_kernels_need_no_initial_design_and_learned_ones_do():
    given = two_layers().solve(2, progress=False)
    assert given.history.trials[0].suggestion.kind is TrialKind.OPTIMISTIC
    learned = problems.bazaraa().problem.solve(
        9, strategy=gs.Optimistic(solver=SEARCH), progress=False
    )
    kinds = [t.suggestion.kind for t in learned.history]
    assert kinds[:3] == [TrialKind.INITIAL] * 3
    assert TrialKind.INITIAL not in kinds[3:]


def test_the_initial_design_is_as_long_as_asked_for():
    result = problems.bazaraa().problem.solve(7, strategy=gs.Optimistic(initial=5), progress=False)
    kinds = [t.suggestion.kind for t in result.history]
    assert kinds.count(TrialKind.INITIAL) == 5


def test_separate_evaluation_asks_inner_layers_once_and_outer_layers_at_both_states():
    result = two_layers().solve(
        6, strategy=gs.Optimistic(exploit=False), evaluation="separate", progress=False
    )
    assert result.evaluations["inner"] == 6
    assert 6 < result.evaluations["outer"] <= 12
    for trial in result.history:
        (query,) = trial.suggestion.probes
        asked = [o for o in trial.observations if o.box == "outer"]
        assert any(np.array_equal(o.inputs, query.inputs) for o in asked)


def test_chained_evaluation_observes_the_real_chain_only():
    result = two_layers().solve(4, evaluation="chained", progress=False)
    assert result.evaluations == {"inner": 4, "outer": 4}


def test_a_box_that_is_not_separable_is_never_asked_at_an_invented_state():
    result = two_layers(separable=False).solve(4, evaluation="separate", progress=False)
    assert result.evaluations == {"inner": 4, "outer": 4}


@pytest.mark.parametrize(("declared", "probes"), [(None, 0), (False, 0), (True, 1)])
def test_people_are_not_asked_for_what_no_other_black_box_gives(declared, probes):
    x = gs.Variable("x", 2, lower=0, upper=1)
    spun = gs.BlackBox(None, name="spun", noise=0)(x)
    woven = gs.BlackBox(None, name="woven", noise=0, separable=declared)
    problem = gs.Problem(minimize=woven(spun))
    study = gs.Study(problem, strategy=gs.Optimistic(initial=4))
    while study.state.made() < 6:
        (query,) = study.ask()
        study.tell(query, float(np.sum((query.inputs - 0.3) ** 2)))
    assert len(study.state.trials[5].suggestion.probes) == probes
    # A study that was stored before there was this rule goes on.
    assert any("separable no" in line for line in fingerprint(problem)) is (declared is False)


def test_invented_states_stay_inside_the_declared_input_range():
    asked = []

    def root(y: float) -> float:
        asked.append(y)
        return np.sqrt(y)

    x = gs.Variable("x", lower=-1, upper=1)
    square = gs.BlackBox(lambda x: x**2, name="square", noise=0, kernel=KERNEL)
    outer = gs.BlackBox(root, noise=0, kernel=KERNEL, input_lower=0)
    gs.Problem(minimize=outer(square(x))).solve(6, progress=False)
    assert len(asked) > 6
    assert min(asked) >= 0


def test_the_last_trials_go_to_recommendations():
    result = problems.williams_otto().problem.solve(
        12, strategy=gs.Optimistic(solver=SEARCH), seed=0, progress=False
    )
    kinds = [t.suggestion.kind for t in result.history]
    assert TrialKind.RECOMMENDED in kinds[-2:]


def test_recommendations_can_be_switched_off():
    strategy = gs.Optimistic(exploit=False, solver=SEARCH)
    result = problems.williams_otto().problem.solve(10, strategy=strategy, progress=False)
    kinds = {t.suggestion.kind for t in result.history}
    assert TrialKind.RECOMMENDED not in kinds


def test_learned_bands_are_doubted_once_they_leave_nothing_to_gain_and_given_ones_never():
    x = gs.Variable("x", lower=-2, upper=2)
    learned = gs.BlackBox(lambda x: x**2, name="f", noise=0)
    strategy = gs.Optimistic(initial=4, solver=SEARCH)
    result = gs.Problem(minimize=learned(x)).solve(16, strategy=strategy, progress=False)
    assert TrialKind.DOUBTING in {t.suggestion.kind for t in result.history}
    given = gs.BlackBox(lambda x: 0.2 * x**2, name="f", noise=0, kernel=KERNEL)
    result = gs.Problem(minimize=given(x)).solve(
        14, strategy=gs.Optimistic(solver=SEARCH), progress=False
    )
    assert result.gap < 1e-2
    assert TrialKind.DOUBTING not in {t.suggestion.kind for t in result.history}


def test_the_promise_is_the_least_value_that_the_bands_allow():
    known = problems.lp_with_embedded_gp(1)
    history = known.problem.solve(5, progress=False).history
    bound = gs.Optimistic().bound(Situation(known.problem, history, 0, "separate", 9))
    plausible = Audited(2.0).plausible_set(known.problem.program, history)
    grid = gs.Grid(25).solve(plausible.search_problem(), plausible.lower.new_zeros(0, 4), 0)
    assert bound.estimated is not None
    assert bound.estimated <= grid.value + 1e-9
    assert bound.estimated == pytest.approx(grid.value, abs=0.15)
    assert bound.estimated <= known.optimum


def test_grid_search_can_solve_the_auxiliary_problem():
    known = problems.sum_of_squares(0)
    strategy = gs.Optimistic(solver=gs.Grid(9))
    result = known.problem.solve(8, strategy=strategy, progress=False)
    assert known.regret(result.fun) < 0.2


def test_a_larger_beta_promises_more():
    known = problems.additive(0)
    history = known.problem.solve(4, progress=False).history
    situation = Situation(known.problem, history, 0, "separate", 9)
    cautious, bold = (
        gs.Optimistic(beta=1.0).bound(situation),
        gs.Optimistic(beta=4.0).bound(situation),
    )
    assert cautious.estimated is not None
    assert bold.estimated is not None
    assert bold.estimated < cautious.estimated - 0.1


@pytest.mark.parametrize(
    "wrong",
    [{"beta": 0}, {"beta": float("nan")}, {"beta": "a"}, {"initial": 0}, {"solver": "grid"}],
)
def test_wrong_options_are_refused(wrong: dict[str, float]):
    with pytest.raises(gs.ModelError, match="Optimistic"):
        gs.Optimistic(**wrong)


def test_a_suggestion_lies_inside_the_bounds():
    strategy = gs.Optimistic(initial=4, solver=gs.MultiStart(4, 256, 10))
    result = problems.rosen_suzuki().problem.solve(8, strategy=strategy, progress=False)
    for trial in result.history:
        assert isinstance(trial.suggestion, Suggestion)
        assert (trial.x >= -2).all()
        assert (trial.x <= 2).all()


def after_some_points(trials: int) -> Situation:
    """A learned problem after Sobol points, far from solved."""
    problem = problems.langermann().problem
    history = problem.solve(trials, strategy=gs.SobolSearch(), progress=False).history
    return Situation(problem, history, 0, "chained", 20)


def test_where_hyper_parameters_are_learned_points_are_chosen_with_half_of_beta():
    situation = after_some_points(7)  # no bound is due then, and no exploring
    ours = gs.Optimistic(solver=SEARCH, initial=6).suggest(situation)
    half = gs.Optimistic(beta=1.0, solver=SEARCH, initial=6, exploit=False).suggest(situation)
    assert ours.kind is TrialKind.NARROWED
    assert half.kind is TrialKind.OPTIMISTIC
    assert ours.x.tolist() == half.x.tolist()


def test_the_bound_is_that_of_the_whole_bands_and_comes_every_fourth_trial():
    ours = gs.Optimistic(solver=SEARCH, initial=6)
    whole = gs.Optimistic(solver=SEARCH, initial=6, exploit=False)
    situation = after_some_points(8)
    assert ours.suggest(situation).bound.estimated == whole.suggest(situation).bound.estimated
    result = situation.problem.solve(14, strategy=ours, evaluation="chained", progress=False)
    given = [t.number for t in result.history if t.suggestion.bound.estimated is not None]
    assert given == [7, 9, 13]  # the first one chosen, and after 8 and 12 trials
    assert np.isfinite(result.upper_bound)


def test_without_exploitation_and_with_given_kernels_every_point_is_the_algorithms_own():
    learned = problems.langermann().problem.solve(
        9, strategy=gs.Optimistic(initial=6, exploit=False), progress=False
    )
    kinds = {t.suggestion.kind for t in learned.history}
    assert kinds <= {TrialKind.INITIAL, TrialKind.OPTIMISTIC, TrialKind.DOUBTING}
    given = two_layers().solve(4, progress=False)
    assert TrialKind.NARROWED not in {t.suggestion.kind for t in given.history}


@pytest.mark.parametrize("kernel", [gs.Linear(), gs.Linear(1.0, 1.0)])
def test_bands_that_the_answers_contradict_bound_nothing(kernel):
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: 1 + x**2, name="f", noise=0, kernel=kernel)
    result = gs.Problem(minimize=f(x)).solve(
        6, strategy=gs.Optimistic(solver=SEARCH), progress=False
    )
    assert (result.lower_bound, result.certified) == (-np.inf, False)
    assert "there is no bound: the answers of black box 'f' contradict" in result.message
    assert result.nit == 6


def test_bands_that_the_answers_contradict_prove_nothing_infeasible():
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: -3.0 if x > 0.9 else 0.0, name="f", noise=0, kernel=KERNEL)
    study = gs.Study(gs.Problem(minimize=x, subject_to=[f(x) <= -2]))
    with pytest.warns(gs.GrisailleWarning, match="rows 4 and 5 contradict each other"):
        study.observe("f", [-1.0, -0.5, 0.0, 0.5, 0.5, 1.0], [0.0, 0.0, 0.0, 1e-4, -1e-4, 0.0])
    result = study.run(1, progress=False)
    assert (result.status, result.certificate) == ("max_trials", None)
