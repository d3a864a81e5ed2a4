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
    "nonlinear_constraints inequality_constraints s_t bounds_on ineq eq g",
    "equations": "equality_constraints equalities equality loops recycles",
    "minimize maximize": "objective obj objectives fun func function target f cost_function loss "
    "goal direction directions sense minimise maximise min max",
    "maximize": "maximise max reward",
    "minimize": "minimise min",
    "feasibility_tol": "tol ftol constraint_tolerance tolerance eps constraint_tol catol rhoend",
    "gap_tol": "gap mip_gap mipgap tol ftol f_tol gtol rel_gap abs_gap",
    "trials": "n_trials num_trials n_iter n_iters n_calls max_iter maxiter max_trials maxfev "
    "max_evals max_evaluations iterations iters niter budget num_iterations n_steps steps "
    "total_trials max_nfev nfev limit n_evals num_evals evaluations max_calls max_fun maxfun",
    "timeout": "time_limit max_time seconds maxtime time budget_seconds wall_time timeout_seconds",
    "seconds": "time_limit max_time timeout maxtime time duration",
    "max_cost": "budget cost cost_budget",
    "seed": "random_state rng random_seed seeds generator",
    "seeds": "seed repetitions repeats random_state n_seeds replications",
    "workers": "n_jobs num_workers n_workers parallel processes max_workers cores jobs",
    "executor": "pool client backend",
    "callback": "callbacks on_trial",
    "progress": "verbose disp display show_progress_bar progress_bar quiet silent verbosity",
    "dashboard": "live page web browser",
    "x0": "initial_points initial_guess start init x_init guess starting_point points",
    "strategy": "sampler samplers acquisition acq_func acq acquisition_function optimizer "
    "algorithm method "
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
    "outputs": "n_outputs output names output_names num_outputs n_out outs y values targets",
    "fn": "f fun func function callable",
    "function": "f fun func fn callable acquisition",
    "noise": "noise_std sigma alpha std noise_level yerr noise_var noise_variance sd stddev error "
    "train_Yvar yvar deterministic noise_free noiseless",
    "kernel": "covariance covar_module cov covar kernels gp",
    "model": "surrogate gp regressor base_estimator estimator",
    "lipschitz": "lipschitz_constant L slope",
    "monotone": "monotonic monotonicity increasing decreasing",
    "cost": "price weight weights cost_per_call",
    "separable": "independent decoupled",
    "lengthscale": "length_scale lengthscale_prior lengthscales length_scales ls ell l scale rho "
    "ard",
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
    "n": "count number num num_points n_points q k batch_size",
    "value": "answer y result output outputs values f",
    "inputs": "x X arguments args params point points data df frame table",
    "x": "point points params inputs candidates",
    "query": "id trial ask",
    "path": "file filename fname out output savefig save",
    "axes": "ax axis fig",
    "absolute_gap": "gap tol atol gap_tol",
    "relative_gap": "gap tol rtol gap_tol mip_gap",
    "regions": "boxes max_nodes nodes max_regions",
    "stop_if_infeasible": "stop_infeasible",
    "allow_changes": "force overwrite ignore_changes",
    "optima": "optimum",
    "delta": "probability failure_probability confidence",
    "horizon": "trials T rounds",
    "directory": "cwd folder dir workdir",
    "folder": "path directory dir output out cache save",
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
    "seeds": "gs.compare",
    "retries": "gs.Study",
    "strategy": "Problem.solve",
    "x0": "Problem.solve",
    "callback": "Problem.solve",
    "progress": "Problem.solve",
    "storage": "gs.Study",
}

# Arguments of gs.Study that its methods do not have.
_OF_STUDY = ("strategy", "seed", "evaluation", "name", "storage", "retries")
# Words that mean another thing wherever they are written.
_OF_MANY = (
    "prior",
    "scale",
    "transform",
    "points",
    "point",
    "params",
    "value",
    "values",
    "weights",
)

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
    "Study directions": "there is one objective: gs.Problem(minimize=...) or maximize=...",
    "Study load_if_exists": "leave it out: a study of this name in the storage is opened",
    "Study pruner": "leave it out: evaluations are not stopped early",
    "Study.run strategy": "gs.Study has strategy=",
    "Study.run seed": "gs.Study has seed=",
    "Study.run x0": "write study.enqueue(...) for points of your own",
    "Study.ask strategy": "gs.Study has strategy=",
    "Problem options": "options are arguments of problem.solve",
    "Problem args": "close over other arguments in the function: lambda x: f(x, 3)",
    "Problem search_space": "leave it out: the problem finds its variables in what you pass",
    "Problem params": "leave it out: the problem finds its variables in what you pass",
    "Problem x": "leave it out: the problem finds its variables in what you pass",
    "Problem.solve name": "name a study: gs.Study(problem, name='...')",
    "Problem.solve bounds": "pass lower= and upper= to gs.Variable",
    "Problem.solve options": "write each option as an argument of its own",
    "Problem.solve args": "close over other arguments in the function: lambda x: f(x, 3)",
    "Problem.solve catch": "leave it out: an evaluation that raises counts as failed",
    "Problem.solve storage": "name a study: gs.Study(problem, name='...', storage='...').run()",
    "Problem.solve integrality": "declare whole numbers: gs.Integer('n', lower=..., upper=...)",
    "Problem.solve patience": "write gap_tol=..., or return True from callback= to stop",
    "Problem.solve early_stopping": "write gap_tol=..., or return True from callback= to stop",
    "Study.run catch": "leave it out: an evaluation that raises counts as failed",
    "Variable choices": "write gs.Choice('c', ['A', 'B'])",
    "Variable categories": "write gs.Choice('c', ['A', 'B'])",
    "Variable values": "write gs.Choice('c', ['A', 'B']) for labels, step=... for numbers",
    "Variable initial": "pass a first point to solve: problem.solve(x0=...)",
    "Variable default": "pass a first point to solve: problem.solve(x0=...)",
    "Unknown initial": "leave it out: predictions say where an unknown begins",
    "Unknown guess": "leave it out: predictions say where an unknown begins",
    "BlackBox n_inputs": "call the black box with the variables it reads: f(x, y)",
    "BlackBox arguments": "call the black box with the variables it reads: f(x, y)",
    "BlackBox args": "call the black box with the variables it reads: f(x, y)",
    "BlackBox lengthscale": "write kernel=gs.Matern(lengthscale=...)",
    "BlackBox prior": "write kernel=... for what is learned, lower= and upper= for what is known",
    "BlackBox retries": "gs.Study has retries=",
    "BlackBox parallel": "problem.solve has workers=",
    "BlackBox cache": "leave it out: no answer is asked for twice",
}

# Names that other libraries have, and what to write here.
_NAMES = {
    "Float Real Continuous Parameter Parameters RealVar Uniform FloatDistribution Design Input Var "
    "Param RangeParameter FloatParameter Dimension DecisionVariable Symbol symbols": "write "
    "gs.Variable('x', lower=0, upper=1)",
    "LogUniform LogReal": "write gs.Variable('x', lower=1e-3, upper=1, log=True)",
    "Int IntegerVariable Discrete IntDistribution IntParameter": "write "
    "gs.Integer('n', lower=0, upper=10)",
    "Categorical Category CategoricalDistribution ChoiceVariable Enum ChoiceParameter Ordinal "
    "CategoricalParameter": "write gs.Choice('c', ['A', 'B'])",
    "Bool Boolean Binary": "write gs.Integer('b', lower=0, upper=1)",
    "Constant Fixed FixedParameter": "write a plain number",
    "Space SearchSpace ParameterSpace DesignSpace Bounds Domain distributions": "declare each "
    "variable with its bounds: gs.Variable('x', lower=0, upper=1)",
    "UCB LCB GPUCB GP_UCB UpperConfidenceBound LowerConfidenceBound qUpperConfidenceBound": "write "
    "gs.Optimistic() or, for composite functions, gs.CUQB()",
    "EI ExpectedImprovement LogExpectedImprovement qLogEI qEI qExpectedImprovement "
    "qLogExpectedImprovement ConstrainedEI": "write gs.LogEI()",
    "NEI qNEI qNoisyExpectedImprovement KG qKnowledgeGradient PI ProbabilityOfImprovement "
    "Thompson ThompsonSampling TS TuRBO MES TPE TPESampler CmaEsSampler CMAES GPSampler LogNEI "
    "BoTorchSampler qLogNEI qLogNoisyExpectedImprovement qMaxValueEntropy MaxValueEntropy SAASBO "
    "samplers strategies UtilityFunction": "write gs.Optimistic(), gs.LogEI() or "
    "gs.Acquisition(function) for one of your own",
    "EHVI qEHVI qNEHVI MOBO NSGA2 NSGAII NSGAIISampler ParEGO Pareto "
    "qExpectedHypervolumeImprovement": "there is one objective: limit the others with subject_to=, "
    "or weigh them",
    "Random RandomSampler": "write gs.RandomSearch()",
    "Sobol QMCSampler SobolEngine QuasiRandom LatinHypercube LHS": "write gs.SobolSearch()",
    "GridSearch GridSampler BruteForceSampler": "write gs.SobolSearch(); gs.Grid is a solver",
    "RBF Gaussian SE SquaredExp ExpQuad RBFKernel": "write gs.SquaredExponential()",
    "MaternKernel Matern52 Matern32": "write gs.Matern(smoothness=2.5)",
    "LinearKernel DotProduct Polynomial": "write gs.Linear()",
    "ScaleKernel ConstantKernel": "kernels have variance=: gs.Matern(variance=2)",
    "WhiteKernel GaussianLikelihood Noise": "gs.BlackBox has noise=",
    "Periodic PeriodicKernel RationalQuadratic ExpSineSquared": "make a subclass of gs.Kernel, as "
    "in docs/own_models.md",
    "SingleTaskGP FixedNoiseGP ModelListGP GaussianProcessRegressor GaussianProcess GP Surrogate "
    "fit_gpytorch_mll fit_gpytorch_model": "black boxes are learned by themselves: "
    "study.model(box) "
    "shows one, and gs.BlackBox has kernel= and model=",
    "Standardize Normalize unnormalize": "leave it out: inputs and answers are scaled inside",
    "minimize maximize optimize solve fmin gp_minimize forest_minimize optimize_acqf Model "
    "Optimizer BayesianOptimization BayesOpt BO AxClient Minimize Maximize Objective minimise "
    "maximise dummy_minimize gbrt_minimize differential_evolution dual_annealing shgo direct "
    "basinhopping brute minimize_scalar linprog milp BayesSearchCV run tune": "write "
    "gs.Problem(minimize=f(x)).solve(trials=50)",
    "create_study load_study Experiment open_study load open resume storages RDBStorage "
    "JournalStorage": "write gs.Study(problem, name='...', storage='sqlite:///study.db')",
    "pruners MedianPruner HyperbandPruner": "leave it out: evaluations are not stopped early",
    "Function Black blackbox Simulator expensive Node objective": "write "
    "@gs.black_box or gs.BlackBox(fn)",
    "Network Graph DAG FunctionNetwork Chain": "call black boxes with each other's outputs: "
    "g(f(x))",
    "Equation Equality Loop Recycle Tear": "write gs.Problem(..., equations=[u == g(x, u)]) with "
    "u = gs.Unknown('u', lower=0, upper=1)",
    "Constraints NonlinearConstraint LinearConstraint subject_to": "write "
    "gs.Problem(minimize=..., subject_to=[a <= b])",
    "OptimizeResult": "write gs.Result",
    "Unit Units Quantity": "declare unit='mm' where you declare a variable or a black box",
    "Cost": "gs.BlackBox has cost=",
    "Budget": "problem.solve has trials= and max_cost=",
    "Callback": "problem.solve has callback=",
    "Executor Worker": "problem.solve has workers= and executor=",
    "read_csv": "read it with pandas, and pass the DataFrame to study.observe",
    "plot visualization": "write result.plot()",
    "dashboard server serve": "write problem.solve(dashboard=True), or run grisaille dashboard",
    "version": "write gs.__version__",
    "exp log sqrt sin cos tan sum abs stack concatenate dot where max min mean clip norm tanh prod "
    "pi inf array arange linspace": "write it with NumPy: np.{name}",
}

# Attributes that other libraries have.
_ATTRIBUTES = {
    "Result best best_value best_objective value optimum f fval fx objective fopt minimum best_y y "
    "y_best best_f func obj": "write result.fun for the value, result.x for the point",
    "Result best_params params best_x x_best x_opt xopt solution argmin best_point point candidate "
    "variables best_design X": "write result.x, or result[x] for a variable x",
    "Result x_iters func_vals trials trials_dataframe get_trials all_trials n_trials data df "
    "frame dataframe to_pandas best_trials": "write result.to_dataframe() for a table, "
    "result.history.trials for the trials",
    "Result feasible is_feasible converged": "write result.success",
    "Result best_trial_ best_index": "write result.history.trials",
    "Result error violation violations max_violation": "write result.maxcv",
    "Result constraints slack con": "write result[constraint's expression], or "
    "result.plot_constraints()",
    "Result summary print": "print(result) shows it, result.report(path) writes a page",
    "Result models": "write result.model(box)",
    "Result study load": "results are made by study.result(); gs.Study opens a stored study",
    "Result jac hess njev": "there are no derivatives: black boxes are learned from answers",
    "Result bound lower lb": "write result.lower_bound and result.upper_bound",
    "Result time runtime duration": "write result.to_dataframe()",
    "Result show plot_history plot_convergence draw": "write result.plot()",
    "Result save to_csv": "write result.to_dataframe().to_csv(path), or result.report(path)",
    "Problem minimize maximize optimize run fit minimise maximise optimise": "write "
    "problem.solve(trials=50)",
    "Problem add_constraint subject_to constraint add": "write gs.Problem(..., subject_to=[...])",
    "Problem plot show draw graph": "write problem.diagram()",
    "Problem f fun evaluate eval": "call the black boxes: f(0.5)",
    "Problem ask tell suggest study": "write gs.Study(problem): it has ask, tell and run",
    "Problem black_boxes": "write problem.boxes",
    "Problem dim n_vars": "write problem.variables",
    "Problem bounds lb ub": "write problem.variables: each has lower and upper",
    "Study optimize solve minimize maximize optimise": "write study.run(trials=50)",
    "Study best_value best_params best_trial best best_trials x fun max res get_best": "write "
    "study.result(): its fun is the value, "
    "its x the point",
    "Study trials trials_dataframe get_trials to_dataframe data dataframe df": "write "
    "study.history.trials, or "
    "study.result().to_dataframe()",
    "Study suggest ask_batch generate_candidates": "write study.ask()",
    "Study add_trial add_data attach register complete_trial": "write study.observe(box, inputs, "
    "outputs), or study.tell(query, value)",
    "Study enqueue_trial probe": "write study.enqueue(x=...)",
    "Study plot show": "write study.result().plot()",
    "Study stop pause cancel kill": "return True from the callback of study.run, or press Ctrl-C",
    "Study resume wait": "write study.run(...) again: it goes on",
    "Study save load": "pass name= and storage= to gs.Study: every answer is stored at once",
    "Study delete": "run grisaille delete NAME",
    "Study status": "print(study) shows it",
    "Study queries": "write study.pending",
    "Study add": "write study.observe(box, inputs, outputs)",
    "Study update register_answer": "write study.tell(query, value)",
    "Study fit": "a study learns by itself: study.model(box) shows what it learned",
    "Query params x point args": "write query.arguments, or query.inputs for the numbers in a row",
    "Query number query_id trial_id": "write query.id",
    "Query name": "write query.box",
    "Query answer value tell": "write study.tell(query, value)",
    "Query suggest_float suggest_int suggest_categorical": "declare gs.Variable('x', lower=0, "
    "upper=1); query.arguments has the values",
    "Trial params point": "write trial.x",
    "Trial value values y fun": "write trial.objective",
    "Trial id": "write trial.number",
    "Trial inputs": "write trial.x",
    "History to_dataframe df X x y values best": "write result.to_dataframe()",
    "History append": "write study.observe(box, inputs, outputs)",
    "BlackBox eval fun func function run call": "write box.evaluate(inputs), or box(...) with "
    "numbers",
    "BlackBox predict": "write study.model(box).predict(...)",
    "BlackBox fit": "black boxes are learned by themselves; study.model(box) shows one",
    "Expression sample suggest": "write problem.solve(trials=50), or gs.Study(problem).ask()",
    "Expression init default initial": "pass a first point to solve: problem.solve(x0=...)",
    "Expression grad": "derivatives are taken inside; gs.white_box has gradient=",
    "Expression value eval evaluate numpy item tolist values": "an expression has no value yet: "
    "after a run, "
    "write result[expression]",
    "Expression bounds low high lb ub min_ max_": "write x.lower and x.upper",
    "Expression flatten": "write np.ravel(...)",
    "Expression clip prod dot squeeze transpose std var exp log sqrt sin cos tan abs cumsum "
    "sort": "write it with NumPy: np.{name}(...)",
    "Expression norm": "write np.linalg.norm(...)",
    "Expression round": "write gs.Integer for whole numbers, step= for steps",
    "Expression argmin argmax any all": "expressions have no values yet: write np.min, np.max or "
    "np.where",
    "Expression append": "write np.concatenate([...])",
    "Choice choices categories options values": "write c.labels",
    "Kernel length_scale lengthscales ls": "write kernel.lengthscale",
    "Kernel outputscale amplitude": "write kernel.variance",
    "Kernel nu": "write kernel.smoothness",
    "Kernel theta hyperparameters": "write kernel.lengthscale and kernel.variance",
    "Kernel fit": "kernels are fitted by themselves; study.model(box).kernel has the fitted one",
    "Constraint lhs expr": "write constraint.left",
    "Constraint rhs": "write constraint.right",
    "Constraint violation value satisfied slack dual": "a constraint has no value yet: after a "
    "run, "
    "write result.maxcv or result[expression]",
    "Strategy ask tell optimize fit": "pass it to a study: gs.Study(problem, strategy=...)",
}

# Names of which less is equal are other names: equations is not meant by options.
_NEARLY = 0.75
_BEGINNING = 4

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
    known = [known for known in dir(thing) if not known.startswith("_")]
    meant = [right for rights in _meant_by(name.lower()) for right in rights if right in known]
    table = {name: f"write {meant[0]}"} if meant else {}
    for kind in reversed(type(thing).__mro__):
        table |= _of(kind.__name__)
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
    owner, plain = who.split(".")[0], wrong.lower()
    needless = _NEEDLESS.get(f"{who} {plain}")
    if needless is not None:
        return f": {needless}"
    meant = _meant_by(plain)
    several = next((r for r in meant if set(r) <= set(named)), None)
    if several is not None:
        rights = several if len(several) > 1 else [r[0] for r in meant if r[0] in named][:2]
        return ": write " + " or ".join(_WRITTEN.get(r, f"{r}=...") for r in rights)
    near = None if wrong in _HOMES else _closest(wrong, named)
    if near:
        return f": write {_WRITTEN.get(near, f'{near}=...')}"
    others = [] if plain in _OF_MANY or len(plain) <= 2 else meant
    for right in (wrong, *(r for rights in others for r in rights)):
        of_study = owner == "Study" and right in _OF_STUDY
        home = "gs.Study" if of_study else _HOMES.get(right, who)
        if owner == "Study" and home == "Problem.solve":
            home = "Study.run"
        if home.removeprefix("gs.") != who:
            return f": {home} has {right}="
    taken = ", ".join(f"{name}=" for name in named[:12])
    return f": it takes {taken}{', ...' if named[12:] else ''}" if named else ": it takes none"


def _meant_by(plain: str) -> list[list[str]]:
    """Return the arguments that a word in lower letters may mean, by rows of `_KEYWORDS`."""
    rows = ((rights.split(), words.lower().split()) for rights, words in _KEYWORDS.items())
    return [rights for rights, words in rows if plain in words]


def _remedy(name: str, synonyms: dict[str, str], known: Iterable[str]) -> str:
    remedy = synonyms.get(name) or synonyms.get(name.lower())
    exact = [one for one in known if _letters(one) == _letters(name)]
    if remedy and not exact:
        return f": {remedy.replace('{name}', name)}"
    near = exact[0] if exact else _closest(name, known)
    return f": did you mean {near!r}?" if near else ": dir() lists what it has"


def _closest(name: str, known: Iterable[str]) -> str | None:
    """Return the name of nearly the same letters, or the longest one it begins with, if any."""
    several = {_letters(one): one for one in known}
    plain = _letters(name)
    near = difflib.get_close_matches(plain, several, 1, _NEARLY) or sorted(
        (one for one in several if _is_beginning(one, plain) or _is_beginning(plain, one)), key=len
    )
    return several[near[-1]] if near else None


def _is_beginning(one: str, other: str) -> bool:
    return len(one) >= _BEGINNING and other.startswith(one)


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
