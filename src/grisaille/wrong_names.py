"""Sentences for wrong keywords and names, such as those of SciPy, Optuna, BoTorch and skopt.

Python says "unexpected keyword argument 'constraints'". `public` lets everything that users name
answer instead: "Problem has no constraints=: write subject_to=[...]". Errors keep their classes,
TypeError and AttributeError, and signatures stay as they are.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

# What other libraries call an argument: its names here, of which those that are taken are offered.
_KEYWORDS = {
    "subject_to": "constraints constraint constraint_functions outcome_constraints st constr cons "
    "nonlinear_constraints inequality_constraints s_t bounds_on",
    "equations": "equality_constraints equalities loops",
    "minimize maximize": "objective obj objectives fun func function target f cost_function loss "
    "goal direction directions sense minimise maximise min max",
    "maximize": "maximise max reward",
    "minimize": "minimise min",
    "feasibility_tol": "tol ftol constraint_tolerance tolerance eps constraint_tol catol rhoend",
    "gap_tol": "gap mip_gap mipgap tol ftol f_tol gtol rel_gap abs_gap",
    "trials": "n_trials num_trials n_iter n_iters n_calls max_iter maxiter max_trials maxfev "
    "max_evals max_evaluations iterations iters niter budget num_iterations n_steps steps "
    "total_trials max_nfev nfev limit",
    "timeout": "time_limit max_time seconds maxtime time",
    "max_cost": "budget cost cost_budget",
    "seed": "random_state rng random_seed seeds generator",
    "seeds": "seed repetitions repeats random_state n_seeds replications",
    "workers": "n_jobs num_workers n_workers parallel processes max_workers cores jobs",
    "executor": "pool client backend",
    "callback": "callbacks on_trial",
    "progress": "verbose disp display show_progress_bar progress_bar quiet silent verbosity",
    "dashboard": "live page web browser",
    "x0": "initial_points initial_guess start init x_init guess starting_point points",
    "strategy": "sampler acquisition acq_func acq acquisition_function optimizer algorithm method "
    "policy base_estimator generation_strategy",
    "strategies": "strategy samplers algorithms methods",
    "problems": "problem",
    "initial": "n_initial_points n_random_starts n_startup_trials init_points n_init n_initial "
    "initial_points num_initial warmup",
    "evaluation": "mode evaluate chained",
    "storage": "db database url path file filename backend db_url sqlite",
    "name": "study_name label title experiment_name id",
    "lower": "low lb min minimum lower_bound start vmin bounds a",
    "upper": "high ub max maximum upper_bound stop vmax bounds b",
    "labels": "choices categories values options levels domain",
    "shape": "size dim dims dimension dimensions n length",
    "log": "log_scale prior logarithmic scale log10 transform",
    "step": "q increment resolution stepsize step_size discretization",
    "unit": "units",
    "outputs": "n_outputs output names output_names num_outputs n_out outs",
    "fn": "f fun func function callable",
    "function": "f fun func fn callable acquisition",
    "noise": "noise_std sigma alpha std noise_level yerr noise_var noise_variance sd stddev error "
    "train_Yvar yvar",
    "kernel": "covariance covar_module cov covar kernels gp",
    "model": "surrogate gp regressor base_estimator estimator",
    "lipschitz": "lipschitz_constant L slope",
    "monotone": "monotonic monotonicity increasing decreasing",
    "cost": "price weight",
    "separable": "independent",
    "lengthscale": "length_scale lengthscales length_scales ls ell l scale rho ard",
    "variance": "outputscale output_scale amplitude signal_variance sigma2 scale sigma",
    "smoothness": "nu p order",
    "beta": "kappa ucb_beta beta_t confidence xi sqrt_beta",
    "samples": "n_samples num_samples mc_samples draws raw_samples sampler",
    "starts": "num_restarts restarts n_restarts n_restarts_optimizer n_starts",
    "restarts": "num_restarts starts n_restarts n_restarts_optimizer",
    "iterations": "maxiter n_iter max_iter",
    "points": "n_points resolution n x params values number",
    "probability": "quantile alpha level q",
    "optimum": "optimal f_opt fopt optimal_value true_optimum minimum",
    "retries": "retry max_retries",
    "gradient": "jac grad jacobian derivative fprime",
    "interval": "bounds enclosure",
    "vectorized": "batched vectorize vectorised batch",
    "solver": "optimizer acq_optimizer method",
    "n": "count number num_points n_points q k batch_size",
    "value": "answer y result output outputs values f",
    "inputs": "x X arguments args params point points",
    "query": "id trial ask",
    "path": "file filename fname out output savefig save",
    "axes": "ax axis fig",
    "absolute_gap": "gap tol atol gap_tol",
    "relative_gap": "gap tol rtol gap_tol mip_gap",
    "regions": "boxes max_nodes nodes max_regions",
    "stop_if_infeasible": "stop_infeasible",
    "allow_changes": "load_if_exists force overwrite",
    "optima": "optimum",
    "delta": "probability failure_probability confidence",
    "horizon": "trials T rounds",
    "directory": "cwd folder dir workdir",
    "reason": "message why error",
    "lease": "timeout ttl",
    "format": "fmt kind output",
    "box": "name black_box function",
}

# How an argument is written, where its name alone does not say that.
_WRITTEN = {"subject_to": "subject_to=[...]", "labels": "labels=[...]"}

# Whose argument it is, where people pass it to something else.
_HOMES = {
    "noise": "gs.BlackBox",
    "kernel": "gs.BlackBox",
    "cost": "gs.BlackBox",
    "outputs": "gs.BlackBox",
    "lower": "gs.Variable",
    "upper": "gs.Variable",
    "log": "gs.Variable",
    "step": "gs.Variable",
    "unit": "gs.Variable",
    "vectorized": "gs.white_box",
    "gradient": "gs.white_box",
    "smoothness": "gs.Matern",
    "beta": "gs.Optimistic",
    "initial": "gs.Optimistic",
    "solver": "gs.Optimistic",
    "subject_to": "gs.Problem",
    "minimize": "gs.Problem",
    "maximize": "gs.Problem",
    "feasibility_tol": "gs.Problem",
    "trials": "Problem.solve",
    "timeout": "Problem.solve",
    "gap_tol": "Problem.solve",
    "workers": "Problem.solve",
    "seed": "Problem.solve",
    "strategy": "Problem.solve",
    "x0": "Problem.solve",
    "callback": "Problem.solve",
    "progress": "Problem.solve",
    "storage": "gs.Study",
}

# Arguments that nothing here takes.
_NEEDLESS = {
    "Problem variables": "leave it out: the problem finds its variables in what you pass",
    "Problem bounds": "pass lower= and upper= to gs.Variable",
    "Variable bounds": "write lower=..., upper=...",
    "Integer bounds": "write lower=..., upper=...",
    "Unknown bounds": "write lower=..., upper=...",
    "Problem name": "name a study: gs.Study(problem, name='...')",
    "Problem boxes": "leave it out: the problem finds its black boxes in what you pass",
    "BlackBox vectorized": "a black box is called with one point at a time; gs.white_box has "
    "vectorized=",
    "BlackBox torch": "gs.white_box has torch=",
    "BlackBox inputs": "call the black box with the variables it reads: f(x, y)",
    "BlackBox variables": "call the black box with the variables it reads: f(x, y)",
    "Variable type": "write gs.Integer for whole numbers, gs.Choice for labels",
    "Variable dtype": "write gs.Integer for whole numbers, gs.Choice for labels",
    "Variable integer": "write gs.Integer('n', lower=..., upper=...)",
    "Variable value": "a variable has bounds; use a plain number for a fixed value",
    "Variable init": "pass a first point to solve: problem.solve(x0=...)",
    "Integer log": "write gs.Variable for a logarithm; whole numbers have none",
    "Integer step": "write gs.Variable(..., step=...) for other steps than 1",
    "Study direction": "write gs.Problem(minimize=...) or gs.Problem(maximize=...)",
}

# Names that other libraries have, and what to write here.
_NAMES = {
    "Float Real Continuous Parameter RealVar Uniform FloatDistribution Design Input": "write "
    "gs.Variable('x', lower=0, upper=1)",
    "LogUniform LogReal": "write gs.Variable('x', lower=1e-3, upper=1, log=True)",
    "Int IntegerVariable Discrete IntDistribution": "write gs.Integer('n', lower=0, upper=10)",
    "Categorical Category CategoricalDistribution ChoiceVariable Enum": "write "
    "gs.Choice('c', ['A', 'B'])",
    "Bool Boolean Binary": "write gs.Integer('b', lower=0, upper=1)",
    "Space SearchSpace ParameterSpace DesignSpace Bounds Domain": "declare each variable with its "
    "bounds: gs.Variable('x', lower=0, upper=1)",
    "UCB LCB GPUCB GP_UCB UpperConfidenceBound LowerConfidenceBound qUpperConfidenceBound": "write "
    "gs.Optimistic() or, for composite functions, gs.CUQB()",
    "EI ExpectedImprovement LogExpectedImprovement qLogEI qEI qExpectedImprovement "
    "qLogExpectedImprovement ConstrainedEI": "write gs.LogEI()",
    "NEI qNEI qNoisyExpectedImprovement KG qKnowledgeGradient PI ProbabilityOfImprovement "
    "Thompson ThompsonSampling TuRBO MES TPE TPESampler CmaEsSampler": "write gs.Optimistic(), "
    "gs.LogEI() or gs.Acquisition(function) for one of your own",
    "Random RandomSampler": "write gs.RandomSearch()",
    "Sobol QMCSampler SobolEngine QuasiRandom LatinHypercube": "write gs.SobolSearch()",
    "GridSearch GridSampler BruteForceSampler": "write gs.SobolSearch(); gs.Grid is a solver",
    "RBF Gaussian SE SquaredExp ExpQuad RBFKernel": "write gs.SquaredExponential()",
    "MaternKernel Matern52 Matern32": "write gs.Matern(smoothness=2.5)",
    "LinearKernel DotProduct": "write gs.Linear()",
    "minimize maximize optimize solve fmin gp_minimize forest_minimize optimize_acqf Model "
    "Optimizer BayesianOptimization BayesOpt BO AxClient Minimize Maximize Objective": "write "
    "gs.Problem(minimize=f(x)).solve(trials=50)",
    "create_study load_study Experiment open_study": "write "
    "gs.Study(problem, name='...', storage='sqlite:///study.db')",
    "Function Black blackbox Simulator expensive Node objective": "write "
    "@gs.black_box or gs.BlackBox(fn)",
    "Constraints NonlinearConstraint LinearConstraint subject_to": "write "
    "gs.Problem(minimize=..., subject_to=[a <= b])",
    "exp log sqrt sin cos tan sum abs stack concatenate dot where": "write it with NumPy: "
    "np.{name}(...)",
}

# Attributes that other libraries have.
_ATTRIBUTES = {
    "Result best best_value best_objective value optimum f fval objective fopt minimum best_y y "
    "best_f func obj": "write result.fun for the value, result.x for the point",
    "Result best_params params best_x xopt solution argmin best_point point candidate variables "
    "best_design X": "write result.x, or result[x] for a variable x",
    "Result x_iters func_vals trials trials_dataframe get_trials all_trials n_trials data df "
    "frame": "write result.to_dataframe() for a table, result.history.trials for the trials",
    "Result feasible is_feasible converged": "write result.success",
    "Result best_trial_ best_index": "write result.history.trials",
    "Result error violation max_violation": "write result.maxcv",
    "Result bound lower lb": "write result.lower_bound and result.upper_bound",
    "Result time runtime": "write result.to_dataframe()",
    "Result show plot_history plot_convergence draw": "write result.plot()",
    "Result save to_csv": "write result.to_dataframe().to_csv(path), or result.report(path)",
    "Problem minimize maximize optimize run fit minimise maximise optimise": "write "
    "problem.solve(trials=50)",
    "Problem add_constraint subject_to constraint add": "write gs.Problem(..., subject_to=[...])",
    "Problem plot show draw": "write problem.diagram()",
    "Problem bounds": "write problem.variables: each has lower and upper",
    "Study optimize solve minimize maximize optimise": "write study.run(trials=50)",
    "Study best_value best_params best_trial best": "write study.result(): its fun is the value, "
    "its x the point",
    "Study trials trials_dataframe get_trials": "write study.history.trials, or "
    "study.result().to_dataframe()",
    "Study suggest ask_batch generate_candidates": "write study.ask()",
    "Study add_trial add_data attach register complete_trial": "write study.observe(box, inputs, "
    "outputs), or study.tell(query, value)",
    "Study enqueue_trial probe": "write study.enqueue(x=...)",
    "Study plot": "write study.result().plot()",
    "Study stop": "return True from the callback of study.run",
    "Query params x point args": "write query.arguments, or query.inputs for the numbers in a row",
    "Query number query_id trial_id": "write query.id",
    "Trial params point": "write trial.x",
    "Trial value values y fun": "write trial.objective",
    "History to_dataframe": "write result.to_dataframe()",
    "BlackBox eval fun func function run": "write box.evaluate(inputs), or box(...) with numbers",
    "Expression value eval evaluate numpy item": "an expression has no value yet: after a run, "
    "write result[expression]",
    "Expression bounds low high lb ub min_ max_": "write x.lower and x.upper",
    "Expression flatten": "write np.ravel(...)",
    "Expression clip prod dot squeeze transpose std var exp log sqrt": "write it with NumPy: "
    "np.{name}(...)",
    "Kernel length_scale lengthscales ls": "write kernel.lengthscale",
    "Kernel outputscale amplitude": "write kernel.variance",
    "Kernel nu": "write kernel.smoothness",
}

_LOOKED_AT: set[type] = set()
_TAUGHT = "_answers_wrong_names"


def public(name: str, load: Callable[[str], Any]) -> Any:
    """Return what users call gs.`name`, after it was taught to answer wrong keywords and names.

    Args:
        name: The name.
        load: Finds what it is, and raises AttributeError if there is nothing of this name.

    Raises:
        AttributeError: There is no such name; a sentence says what to write.
    """
    if name not in _modules():
        if not name.startswith("_"):
            remedy = _remedy(name, _split(_NAMES), _modules())
            raise AttributeError(f"grisaille has no {name}{remedy}", name=name, obj=None)
        return load(name)
    load(name)
    _teach_what_is_loaded()
    return load(name)


def no_such_attribute(thing: Any, name: str) -> AttributeError:
    """Return the error for an attribute that `thing` does not have."""
    table: dict[str, str] = {}
    for kind in reversed(type(thing).__mro__):
        table |= _of(kind.__name__)
    known = [known for known in dir(thing) if not known.startswith("_")]
    remedy = _remedy(name, table, known)
    return AttributeError(f"{type(thing).__name__} has no {name}{remedy}", name=name, obj=None)


@functools.cache
def _modules() -> dict[str, str]:
    """The public names, and the module that each is defined in."""
    stub = ast.parse(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: f"{__package__}.{node.module}" if node.module else __package__
        for node in imports
        for alias in node.names
    }


def _teach_what_is_loaded() -> None:
    """Teach the public names of all modules that are loaded: users meet them unnamed, too."""
    for name, home in _modules().items():
        module = sys.modules.get(home)
        value = vars(module).get(name) if module is not None else None
        if isinstance(value, type):
            _teach(value)
        elif inspect.isfunction(value) and not hasattr(value, _TAUGHT):
            setattr(module, name, _answering(value, name))


def _teach(cls: type) -> None:
    """Let the constructor, the public methods and the attributes of a class answer."""
    if cls in _LOOKED_AT or issubclass(cls, BaseException | Enum):
        return
    _LOOKED_AT.add(cls)
    for base in cls.__mro__:
        if base.__module__.startswith(f"{__package__}."):
            for name, value in list(vars(base).items()):
                owner = base.__name__ if base.__name__ in _modules() else cls.__name__
                shown = owner if name == "__init__" else f"{owner}.{name}"
                meant = name == "__init__" or not name.startswith("_")
                if meant and inspect.isfunction(value) and not hasattr(value, _TAUGHT):
                    setattr(base, name, _answering(value, shown))
    if not hasattr(getattr(cls, "__getattr__", None), _TAUGHT):
        cls.__getattr__ = _attribute(getattr(cls, "__getattr__", None))  # type: ignore[attr-defined]


def _answering(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def answering(*args: Any, **kwargs: Any) -> Any:
        try:
            value = function(*args, **kwargs)
        except TypeError as error:
            # The function was never entered: Python could not match its arguments.
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise TypeError(_wrong_call(function, who, args, kwargs)) from None
            raise
        # What a call returns may be of a class that was loaded after the last look.
        if type(value) not in _LOOKED_AT:
            _LOOKED_AT.add(type(value))
            _teach_what_is_loaded()
        return value

    setattr(answering, _TAUGHT, True)
    return answering


def _attribute(given: Callable[[Any, str], Any] | None) -> Callable[[Any, str], Any]:
    find = object.__getattribute__ if given is None else given

    def attribute(self: Any, name: str) -> Any:
        if hasattr(type(self), name):  # a property raised, which Python then hides
            return object.__getattribute__(self, name)
        if name.startswith("_"):
            return find(self, name)
        try:
            return find(self, name)
        except AttributeError:
            raise no_such_attribute(self, name) from None

    setattr(attribute, _TAUGHT, True)
    return attribute


def _wrong_call(
    function: Callable[..., Any], who: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str:
    """Return what is wrong with the arguments of a call."""
    parameters = list(inspect.signature(function).parameters.values())
    is_method = bool(parameters) and parameters[0].name in ("self", "cls")
    if is_method:
        parameters, args = parameters[1:], args[1:]
    kinds = {p.kind for p in parameters}
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [p for p in parameters if p.kind not in open_ended]
    named = [p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY]
    placed = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    for wrong in () if inspect.Parameter.VAR_KEYWORD in kinds else kwargs:
        if wrong not in named:
            return f"{who} has no {wrong}={_remedy_of_keyword(who, wrong, named)}"
    if len(args) > len(placed) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        takes = f"{len(placed)} ({', '.join(p.name for p in placed)})" if placed else "none"
        others = [f"{name}=" for name in named if name not in {p.name for p in placed}]
        rest = f": write the others by name, {', '.join(others[:6])}" if others else ""
        return f"{who} takes {takes} by position, got {len(args)}{rest}"
    for parameter in placed[: len(args)]:
        if parameter.name in kwargs:
            return f"{who} got {parameter.name}= twice, by position and by name: leave one out"
    needed = [p for p in parameters if p.default is p.empty]
    given = {*kwargs, *(p.name for p in placed[: len(args)])}
    missing = " and ".join(p.name for p in needed if p.name not in given)
    written = ", ".join(p.name if p in placed else f"{p.name}=..." for p in needed)
    return f"{who} needs {missing}: write {who}({written})"


def _remedy_of_keyword(who: str, wrong: str, named: list[str]) -> str:
    owner = who.split(".")[0]
    for key, remedy in _NEEDLESS.items():
        if key.lower() == f"{owner} {wrong}".lower():
            return f": {remedy}"
    plain = wrong.lower()
    meant = [rights.split() for rights, words in _KEYWORDS.items() if plain in words.split()]
    several = next((r for r in meant if set(r) <= set(named)), None)
    if several is not None:
        rights = several if len(several) > 1 else [r[0] for r in meant if r[0] in named][:2]
        return ": write " + " or ".join(_WRITTEN.get(r, f"{r}=...") for r in rights)
    near = _closest(wrong, named)
    if near:
        return f": write {_WRITTEN.get(near, f'{near}=...')}"
    for right in (wrong, *(r for rights in meant for r in rights)):
        if right in _HOMES and _HOMES[right].removeprefix("gs.") != who:
            return f": {_HOMES[right]} has {right}="
    taken = ", ".join(f"{name}=" for name in named[:12])
    return f": it takes {taken}{', ...' if named[12:] else ''}" if named else ": it takes none"


def _remedy(name: str, synonyms: dict[str, str], known: Iterable[str]) -> str:
    remedy = synonyms.get(name) or synonyms.get(name.lower())
    exact = [one for one in known if _letters(one) == _letters(name)]
    if remedy and not exact:
        return f": {remedy.replace('{name}', name)}"
    near = exact[0] if exact else _closest(name, known)
    return f": did you mean {near!r}?" if near else ": dir() lists what it has"


def _closest(name: str, known: Iterable[str]) -> str | None:
    """Return the name of nearly the same letters, if there is one."""
    several = {_letters(one): one for one in known}
    near = difflib.get_close_matches(_letters(name), several, 1)
    return several[near[0]] if near else None


def _letters(name: str) -> str:
    return name.lower().replace("_", "")


def _split(table: dict[str, str]) -> dict[str, str]:
    """One remedy for each name; a name in lower letters counts where no other one has them."""
    made = {name: remedy for names, remedy in table.items() for name in names.split()}
    return {name.lower(): remedy for name, remedy in made.items()} | made


def _of(kind: str) -> dict[str, str]:
    """The remedies for the attributes of one class."""
    several = {names: remedy for names, remedy in _ATTRIBUTES.items() if names.split()[0] == kind}
    return _split({names.partition(" ")[2]: remedy for names, remedy in several.items()})
