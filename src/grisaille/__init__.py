"""Grisaille: Bayesian optimization of expensive nested grey-box functions.

Names load on first use, so that `grisaille --help` need not wait for PyTorch.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grisaille import problems as problems
    from grisaille.certification.certificate import Certificate
    from grisaille.errors import (
        AssumptionError,
        EvaluationError,
        GrisailleError,
        ModelError,
        ProtocolError,
        StorageError,
    )
    from grisaille.execution.command import command
    from grisaille.interoperation.generator import Generator
    from grisaille.language.black_box import BlackBox, black_box
    from grisaille.language.causal.do import Do, do, exogenous, intervene, natural
    from grisaille.language.causal.intervention_sets import minimal_interventions
    from grisaille.language.causal.model import CausalModel
    from grisaille.language.causal.problem import causal_problem
    from grisaille.language.expression import Constraint, Expression, Variable
    from grisaille.language.problem import Problem
    from grisaille.language.rewrite import collapse
    from grisaille.language.white_box import WhiteBox, white_box
    from grisaille.metrics import Metrics
    from grisaille.records import Failure, History, Observation, Trial, TrialKind
    from grisaille.solvers.certified import Certified
    from grisaille.solvers.grid import Grid
    from grisaille.solvers.multistart import MultiStart
    from grisaille.strategies.causal.cbo import CBO, ConstrainedCBO
    from grisaille.strategies.causal.mcbo import MCBO
    from grisaille.strategies.config import CONFIG
    from grisaille.strategies.expected_improvement import EICF, EIFN
    from grisaille.strategies.log_ei import LogEI
    from grisaille.strategies.optimistic import Optimistic
    from grisaille.strategies.quantile_bound import CUQB
    from grisaille.strategies.random_search import RandomSearch, SobolSearch
    from grisaille.study.result import Result, Status
    from grisaille.study.session import Query
    from grisaille.study.study import Study
    from grisaille.surrogates.kernels import Linear, Matern, SquaredExponential
    from grisaille.theory.guarantee import Guarantee
    from grisaille.theory.information_gain import information_gain, maximum_information_gain
    from grisaille.theory.regret_rates import convergence_rate, information_gain_rate, regret_rate
    from grisaille.theory.theory import Theory

__version__ = "0.1.0"

_HOME = {
    "Generator": "interoperation.generator",
    "Query": "study.session",
    "Study": "study.study",
    "Failure": "records",
    "StorageError": "errors",
    "command": "execution.command",
    "Certificate": "certification.certificate",
    "Certified": "solvers.certified",
    "Guarantee": "theory.guarantee",
    "information_gain": "theory.information_gain",
    "maximum_information_gain": "theory.information_gain",
    "convergence_rate": "theory.regret_rates",
    "information_gain_rate": "theory.regret_rates",
    "regret_rate": "theory.regret_rates",
    "Theory": "theory.theory",
    "Metrics": "metrics",
    "collapse": "language.rewrite",
    "CausalModel": "language.causal.model",
    "causal_problem": "language.causal.problem",
    "Do": "language.causal.do",
    "do": "language.causal.do",
    "exogenous": "language.causal.do",
    "intervene": "language.causal.do",
    "natural": "language.causal.do",
    "CBO": "strategies.causal.cbo",
    "ConstrainedCBO": "strategies.causal.cbo",
    "minimal_interventions": "language.causal.intervention_sets",
    "CONFIG": "strategies.config",
    "CUQB": "strategies.quantile_bound",
    "EICF": "strategies.expected_improvement",
    "EIFN": "strategies.expected_improvement",
    "LogEI": "strategies.log_ei",
    "RandomSearch": "strategies.random_search",
    "SobolSearch": "strategies.random_search",
    "AssumptionError": "errors",
    "EvaluationError": "errors",
    "GrisailleError": "errors",
    "ModelError": "errors",
    "ProtocolError": "errors",
    "Constraint": "language.expression",
    "Expression": "language.expression",
    "Variable": "language.expression",
    "BlackBox": "language.black_box",
    "WhiteBox": "language.white_box",
    "black_box": "language.black_box",
    "white_box": "language.white_box",
    "Problem": "language.problem",
    "History": "records",
    "Observation": "records",
    "Trial": "records",
    "TrialKind": "records",
    "Grid": "solvers.grid",
    "MultiStart": "solvers.multistart",
    "MCBO": "strategies.causal.mcbo",
    "Optimistic": "strategies.optimistic",
    "Result": "study.result",
    "Status": "study.result",
    "Linear": "surrogates.kernels",
    "Matern": "surrogates.kernels",
    "SquaredExponential": "surrogates.kernels",
}

__all__ = [
    "CBO",
    "CONFIG",
    "CUQB",
    "EICF",
    "EIFN",
    "MCBO",
    "AssumptionError",
    "BlackBox",
    "CausalModel",
    "Certificate",
    "Certified",
    "ConstrainedCBO",
    "Constraint",
    "Do",
    "EvaluationError",
    "Expression",
    "Failure",
    "Generator",
    "Grid",
    "GrisailleError",
    "Guarantee",
    "History",
    "Linear",
    "LogEI",
    "Matern",
    "Metrics",
    "ModelError",
    "MultiStart",
    "Observation",
    "Optimistic",
    "Problem",
    "ProtocolError",
    "Query",
    "RandomSearch",
    "Result",
    "SobolSearch",
    "SquaredExponential",
    "Status",
    "StorageError",
    "Study",
    "Theory",
    "Trial",
    "TrialKind",
    "Variable",
    "WhiteBox",
    "black_box",
    "causal_problem",
    "collapse",
    "command",
    "convergence_rate",
    "do",
    "exogenous",
    "information_gain",
    "information_gain_rate",
    "intervene",
    "maximum_information_gain",
    "minimal_interventions",
    "natural",
    "regret_rate",
    "white_box",
]


def __getattr__(name: str) -> Any:
    if name == "problems":  # known problems, used as often as what is in them
        return importlib.import_module("grisaille.problems")
    if name not in _HOME:
        # With the module in hand, Python says which name is meant.
        module = sys.modules[__name__]
        raise AttributeError(f"module 'grisaille' has no attribute {name!r}", name=name, obj=module)
    value = getattr(importlib.import_module(f"grisaille.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "problems"})
