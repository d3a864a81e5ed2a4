"""Grisaille: Bayesian optimization of expensive nested grey-box functions.

Names load on first use, so that `grisaille --help` need not wait for PyTorch.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grisaille import problems as problems
    from grisaille.confidence.certificate import Certificate
    from grisaille.confidence.guarantee import Guarantee
    from grisaille.confidence.information import information_gain, maximum_information_gain
    from grisaille.confidence.rates import convergence_rate, information_gain_rate, regret_rate
    from grisaille.confidence.theory import Theory
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
    from grisaille.metrics import Metrics
    from grisaille.modeling.black_box import BlackBox, black_box
    from grisaille.modeling.causal import CausalModel
    from grisaille.modeling.causal_problem import causal_problem
    from grisaille.modeling.expression import Constraint, Expression, Variable
    from grisaille.modeling.intervention_sets import minimal_interventions
    from grisaille.modeling.interventions import Do, do, exogenous, intervene, natural
    from grisaille.modeling.problem import Problem
    from grisaille.modeling.rewrite import collapse
    from grisaille.modeling.white_box import WhiteBox, white_box
    from grisaille.records import Failure, History, Observation, Trial, TrialKind
    from grisaille.solvers.certified import Certified
    from grisaille.solvers.grid import Grid
    from grisaille.solvers.multistart import MultiStart
    from grisaille.strategies.cbo import CBO, ConstrainedCBO
    from grisaille.strategies.config import CONFIG
    from grisaille.strategies.improvement import EICF, EIFN
    from grisaille.strategies.logei import LogEI
    from grisaille.strategies.mcbo import MCBO
    from grisaille.strategies.optimistic import Optimistic
    from grisaille.strategies.quantile import CUQB
    from grisaille.strategies.random_search import RandomSearch, SobolSearch
    from grisaille.study.desk import Query
    from grisaille.study.result import Result, Status
    from grisaille.study.study import Study
    from grisaille.surrogates.kernels import Linear, Matern, SquaredExponential

__version__ = "0.1.0"

_HOME = {
    "Generator": "interoperation.generator",
    "Query": "study.desk",
    "Study": "study.study",
    "Failure": "records",
    "StorageError": "errors",
    "command": "execution.command",
    "Certificate": "confidence.certificate",
    "Certified": "solvers.certified",
    "Guarantee": "confidence.guarantee",
    "information_gain": "confidence.information",
    "maximum_information_gain": "confidence.information",
    "convergence_rate": "confidence.rates",
    "information_gain_rate": "confidence.rates",
    "regret_rate": "confidence.rates",
    "Theory": "confidence.theory",
    "Metrics": "metrics",
    "collapse": "modeling.rewrite",
    "CausalModel": "modeling.causal",
    "causal_problem": "modeling.causal_problem",
    "Do": "modeling.interventions",
    "do": "modeling.interventions",
    "exogenous": "modeling.interventions",
    "intervene": "modeling.interventions",
    "natural": "modeling.interventions",
    "CBO": "strategies.cbo",
    "ConstrainedCBO": "strategies.cbo",
    "minimal_interventions": "modeling.intervention_sets",
    "CONFIG": "strategies.config",
    "CUQB": "strategies.quantile",
    "EICF": "strategies.improvement",
    "EIFN": "strategies.improvement",
    "LogEI": "strategies.logei",
    "RandomSearch": "strategies.random_search",
    "SobolSearch": "strategies.random_search",
    "AssumptionError": "errors",
    "EvaluationError": "errors",
    "GrisailleError": "errors",
    "ModelError": "errors",
    "ProtocolError": "errors",
    "Constraint": "modeling.expression",
    "Expression": "modeling.expression",
    "Variable": "modeling.expression",
    "BlackBox": "modeling.black_box",
    "WhiteBox": "modeling.white_box",
    "black_box": "modeling.black_box",
    "white_box": "modeling.white_box",
    "Problem": "modeling.problem",
    "History": "records",
    "Observation": "records",
    "Trial": "records",
    "TrialKind": "records",
    "Grid": "solvers.grid",
    "MultiStart": "solvers.multistart",
    "MCBO": "strategies.mcbo",
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
