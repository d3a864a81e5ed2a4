"""Black boxes: the expensive, unknown functions that a user brings.

Options are named after what they do: `shared_kernel=True`, not `kind="curve"`, because the order of
the outputs is not used, and fields and spectra work alike.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import attribute_of, has_method, is_finite, is_flag, real_numbers, takes
from grisaille.errors import (
    EvaluationError,
    ModelError,
    ProtocolError,
    counted,
    raised,
    shortened,
    text_of,
)
from grisaille.language.expression import Call, Expression, Unit, as_expression
from grisaille.language.operations import Shape
from grisaille.language.units import Units, declared_unit, entry_units, plain_numbers
from grisaille.language.user_function import (
    check_shape_of_slopes,
    decorator,
    directions,
    functools_target,
    is_symbolic,
    name_of,
    output_shape,
)
from grisaille.language.values import (
    Value,
    ValueKind,
    check_distinct,
    check_order,
    entry_names,
    named_values,
    readable_inputs,
)
from grisaille.language.variable import Choice, Integer

# --- black box answer -----------------------------------------------------------------------------
# The answer of a black box, as the numbers it was declared to return.

# A variance is the square of an answer, and no float is above 1.8e308. From answers of 1e155 on, no
# decision could be made (benchmarks/extreme_answers.py); up to 1e150, there is room for factors.
LARGEST_ANSWER = 1e150


class WrongFormError(EvaluationError):
    """An answer that is something else than the declared number of numbers, not a bad number."""


def checked_answer(
    answer: Any, outputs: int, names: tuple[str, ...], where: str, box: str = "", unit: Unit = None
) -> Array:
    """The answer as a flat array of `outputs` finite numbers.

    Args:
        answer: What was returned, or told.
        outputs: How many numbers are wanted.
        names: Their names; empty if they have none.
        where: Which black box at which inputs, for messages.
        box: The name of the black box, after which outputs without names are called.
        unit: The unit of the outputs: quantities are converted to it.

    Raises:
        WrongFormError: The answer is something else.
        EvaluationError: One of the numbers is not finite.
    """
    if type(answer) in (float, np.float64, np.ndarray):  # most are, and need no further look
        plain = np.array(answer)
        if plain.dtype == float and plain.size == outputs and np.isfinite(plain).all():
            return plain.reshape(-1)
    shown = list(names) or entry_names(box or "the answer", (outputs,) if outputs > 1 else ())
    try:
        named = _by_name(answer, where)
    except ModelError as error:
        raise WrongFormError(str(error)) from None
    has_names = named and (isinstance(answer, dict) or any(isinstance(n, str) for n in named))
    # A tuple has its order, and a dictionary without any name of an output is refused below.
    is_table = not isinstance(answer, dict | tuple)
    if named and has_names and (names or is_table or any(n in named for n in shown)):
        missing = [n for n in shown if n not in named]
        if missing:
            got = ", ".join(map(shortened, named))
            raise WrongFormError(
                f"{where} returned values for {got}, but none for {missing[0]!r}: its "
                f"{'output is' if outputs == 1 else 'outputs are'} {', '.join(map(repr, shown))}"
            )
        answer = [named[n] for n in shown]
    answer = plain_numbers(
        answer, entry_units(unit, outputs), shown, lambda text: WrongFormError(f"{where}: {text}")
    )
    try:
        array = real_numbers(answer)
    except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
        raise WrongFormError(
            f"{where} returned {shortened(answer)}: it must return {counted(outputs, 'number')}"
            + (" (does it lack a return statement?)" if answer is None else "")
        ) from error
    if array.size != outputs:
        raise WrongFormError(
            f"{where} returned {counted(array.size, 'number')} (shape {array.shape}), "
            f"declared with outputs={outputs}: return {counted(outputs, 'number')}, "
            f"or declare outputs={array.size}"
        )
    if not np.isfinite(array).all():
        raise EvaluationError(
            f"{where} returned {shortened(array.ravel().tolist())}: every output must be a finite "
            "number"
        )
    return array.reshape(-1)


def is_too_large(outputs: Array) -> bool:
    """Return whether an answer is too large for anything to be learned from it."""
    return bool((np.abs(outputs) > LARGEST_ANSWER).any())


def check_size(outputs: Array, where: str) -> None:
    """Raise EvaluationError if an answer is too large for anything to be learned from it.

    Args:
        outputs: The outputs, flat.
        where: Which black box at which inputs.
    """
    if is_too_large(outputs):
        raise EvaluationError(
            f"{where} answered {shortened(outputs.tolist())}: beyond ±{LARGEST_ANSWER:g}, nothing "
            "can be learned. If this stands for a failure, raise an exception in the function, or "
            "call study.fail: the place is then avoided. If it was recorded, study.retract takes "
            "it back (study.answers() has its id)"
        )


def _by_name(answer: Any, where: str) -> dict[Any, Any] | None:
    """The values by name of a dictionary, named tuple, record, pandas series or one-row frame."""
    if isinstance(answer, dict):
        return answer
    if isinstance(answer, type):
        return None
    if attribute_of(answer, "_asdict") is not None:
        return dict(answer._asdict())
    fields = attribute_of(attribute_of(answer, "dtype"), "names")
    if fields and np.size(answer) == 1:
        return {field: answer[field] for field in fields}
    if attribute_of(answer, "iloc") is None:
        return None
    if answer.ndim == 2 and len(answer) == 1:
        answer = answer.iloc[0]
    pairs = named_values(answer)
    if pairs is None:
        return None
    names = [name for name, _ in pairs]
    check_order(names, where)
    check_distinct(names, where)
    return dict(pairs)


# --- black box arguments --------------------------------------------------------------------------
# The arguments of a black box, from the flat numbers that they were made of.

# Longer arguments are shown in messages by their first and last numbers.
_MOST_SHOWN = 50


def argument_values(
    inputs: Array, shapes: Sequence[Shape], labels: Sequence[tuple[str, ...]], whole: Sequence[bool]
) -> list[Any]:
    """Flat inputs as the values a function is called with.

    Args:
        inputs: The numbers of all arguments in a row; a choice is one number per label.
        shapes: The shape of each argument.
        labels: The labels of each argument that is a choice; nothing for others.
        whole: Which arguments are whole numbers.
    """
    values: list[Any] = []
    start = 0
    for shape, own, is_whole in zip(shapes, labels, whole, strict=True):
        size = int(np.prod(shape))
        part = inputs[start : start + size]
        start += size
        if own:
            values.append(own[int(np.argmax(part))])
            continue
        if is_whole and (part == np.rint(part)).all():
            part = part.astype(int)
        values.append(part[0].item() if shape == () else np.array(part).reshape(shape))
    return values


def values_text(values: Sequence[Any]) -> str:
    """The values a function is called with, for messages."""
    return ", ".join(
        v
        if isinstance(v, str)
        else np.array2string(np.asarray(v), precision=6, threshold=_MOST_SHOWN)
        for v in values
    )


def kind_text(labels: tuple[str, ...]) -> str:
    """What an argument is, for messages."""
    return f"a choice of {', '.join(map(repr, labels))}" if labels else "numbers"


def counts_text(shapes: Sequence[Shape]) -> str:
    """How many numbers arguments are, and of which shapes, for messages."""
    total = sum(int(np.prod(s)) for s in shapes)
    detail = ", ".join("scalar" if s == () else str(list(s)) for s in shapes)
    return f"{counted(total, 'number')} ({detail})"


# --- black box conflicts --------------------------------------------------------------------------
# Options of a black box that contradict each other.


def option_conflict(
    levels: Array | None,
    noise: Any,
    kernel: Any,
    norm_bound: Any,
    model: Any,
    process_noise: bool,
) -> str:
    """What is wrong with a combination of options, and what to do; empty if nothing is.

    Args:
        levels: The noise of each output, (k,); None to learn it.
        noise: The options of `BlackBox`, as they were given.
        kernel: Likewise.
        norm_bound: Likewise.
        model: Likewise.
        process_noise: Likewise.
    """
    is_given = getattr(kernel, "lengthscale", None) is not None
    if is_given and noise is None:
        return (
            "has a kernel with hyper-parameters, so nothing is learned, but no noise: pass "
            "noise=0, or its standard deviation"
        )
    if norm_bound is not None and not is_given:
        return (
            f"has norm_bound={shortened(norm_bound)}, which is about the space of a given "
            "kernel: pass kernel=gs.Matern(lengthscale=..., variance=...), or declare lower= "
            "and upper= instead"
        )
    if process_noise and levels is not None and not levels.all():
        return (
            f"has process_noise=True and noise={shortened(noise)}: give the standard "
            "deviation of its disturbances, None to learn it, or leave process_noise out"
        )
    if process_noise and model is not None and noise is None:
        return (
            "has process_noise=True and model=, which does not tell its disturbances: pass "
            "their standard deviation as noise="
        )
    return ""


_NOT_TOGETHER = {
    "model": "your own model has kernels of its own",
    "norm_bound": "theorems ask for the best of all plausible outputs, and the search of a black "
    "box with a shared kernel moves them along common patterns only",
    "process_noise": "disturbances of many outputs would have to be averaged together",
    "lipschitz": "declared slopes cut the band of each output on its own",
    "monotone": "declared directions cut the band of each output on its own",
}


def conflict_with_shared_kernel(**given: Any) -> str:
    """Why an option and shared_kernel=True contradict each other; empty if none does.

    Args:
        given: The options of `BlackBox` that do, as they were given.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            return (
                f"has shared_kernel=True and {name}={shortened(value)}: {_NOT_TOGETHER[name]}; "
                "leave one of the two out"
            )
    return ""


# --- black box ------------------------------------------------------------------------------------
# Black boxes: the expensive, unknown functions a user brings.


class BlackBox:
    """An expensive, unknown function, learned by its own Gaussian process.

    Called with expressions it gives an expression; called with numbers it is the plain function.
    A black box that is called at several places has one surrogate.

    Args:
        fn: The function: one NumPy value per argument (a scalar arrives as a float, an integer as
            int, a choice as its label) to one number, or `outputs` of them. None if it is
            evaluated outside this process.
        name: Its name in messages and tables; by default that of the function.
        outputs: How many numbers it returns, or their names. 1 gives a scalar expression.
        noise: Standard deviation of the observation noise, in the output's units, one or one per
            output; 0 for a deterministic simulator; None to learn it.
        kernel: A `SquaredExponential`, `Matern` or `Linear`, a sum or product of them, or one of
            your own (`gs.Kernel`); None for the default. One with hyper-parameters is used as it
            is, in the user's own units.
        norm_bound: B_i, a bound on the norm in the space of a kernel with hyper-parameters
            (Assumption bounded_norm), one or one per output; clips the band to ±B_i sqrt(k(s, s)).
        lower: Smallest value an output can take: clips the band. One, or one per output. An answer
            outside is an error without noise. It is kept as it is with noise; with noise to be
            learned, if it is outside by no more than 10 % of the range, or of the answers' spread.
        upper: Largest value an output can take, likewise.
        input_lower: Smallest inputs it accepts, a number or one per input number: its
            optimistic states stay inside. A design point whose chain leaves the range counts as
            infeasible: the black box is not evaluated there, and the trial fails.
        input_upper: Largest inputs it accepts, likewise.
        lipschitz: How fast outputs can change with each input (Assumption Lip): one number, one
            per input, or an array (outputs, inputs). With exact answers it cuts the band. Bounds on
            regret use it too; without it they use what the norm bound implies, or an estimate.
        monotone: "increasing", "decreasing" or None: how outputs change when an input rises. One
            word, one per input, or nested lists (outputs, inputs). With exact answers it cuts the
            band.
        model: Your own surrogate: a function `(inputs, outputs) -> BoTorch model`, tensors of
            shape (n, d) and (n, k) in the user's units.
        separable: False if it can be evaluated only along the real chain, not on its own at an
            optimistic intermediate value; True if it can. By default True for a function, and
            False without one: people and machines cannot make a value that another black box has.
        timeout: Seconds after which an evaluation is given up and its process killed; it is
            evaluated in a separate process.
        cost: What one evaluation costs, in any unit: budgets count it, and when costs differ,
            an expensive box is evaluated only where the information is worth its cost.
        process_noise: True if the noise disturbs the process itself, not only its observation:
            downstream parts read the disturbed value, and objective and constraints are expected
            values over the disturbances.
        shared_kernel: True if all outputs share one kernel, and so one factorization: for curves
            and fields of many numbers. How outputs vary together is learned as a few patterns.
        unit: Unit of the outputs, such as "kW": one, one per output, or a dictionary by the
            outputs' names; "" for a plain number.
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None,
        *,
        name: str | None = None,
        outputs: int | Sequence[str] = 1,
        noise: ArrayLike | None = None,
        kernel: Any = None,
        norm_bound: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        input_lower: ArrayLike | None = None,
        input_upper: ArrayLike | None = None,
        lipschitz: ArrayLike | None = None,
        monotone: str | Sequence[Any] | None = None,
        model: Callable[[Tensor, Tensor], Any] | None = None,
        separable: bool | None = None,
        timeout: float | None = None,
        cost: float = 1.0,
        process_noise: bool = False,
        shared_kernel: bool = False,
        unit: Units = None,
    ) -> None:
        self.fn = fn
        self.name = name_of(fn, name, "black box")
        self.output_names, self.output_shape = output_shape(outputs, f"black box {self.name!r}")
        self.unit = declared_unit(
            f"black box {self.name!r}", unit, self.output_shape, self.output_names
        )
        self.noise = self._per_output("noise", noise)
        if self.noise is not None and not ((self.noise >= 0) & np.isfinite(self.noise)).all():
            raise self._fault(
                f"has noise {shortened(noise)}: a standard deviation is finite and at least 0; "
                "None lets it be learned"
            )
        self.norm_bound = self._positive("norm_bound", self._per_output("norm_bound", norm_bound))
        if kernel is not None and model is not None:
            raise self._fault("has both kernel= and model=: choose one")
        if kernel is not None and not has_method(kernel, "correlation"):
            raise self._fault(
                f"has kernel={shortened(kernel)}: pass gs.SquaredExponential(), gs.Matern(), "
                "gs.Linear(), a sum or product of them, or a kernel of your own (gs.Kernel)"
            )
        if model is not None and not (callable(model) and takes(model, 2)):
            raise self._fault(
                f"has model={shortened(model)}: pass a function of inputs and outputs that "
                "returns a BoTorch model"
            )
        flags = {"separable": separable is None or separable, "process_noise": process_noise}
        for what, flag in (flags | {"shared_kernel": shared_kernel}).items():
            if not is_flag(flag):
                raise self._fault(f"has {what}={shortened(flag)}: pass True or False")
        conflict = option_conflict(self.noise, noise, kernel, norm_bound, model, process_noise)
        if shared_kernel and not conflict:
            declared = {"model": model, "norm_bound": norm_bound, "process_noise": process_noise}
            declared |= {"lipschitz": lipschitz, "monotone": monotone}
            conflict = conflict_with_shared_kernel(**declared)
        if conflict:
            raise self._fault(conflict)
        self.shared_kernel = bool(shared_kernel)
        self.process_noise = bool(process_noise)
        self.kernel = kernel
        self.lower = self._per_output("lower", lower)
        self.upper = self._per_output("upper", upper)
        self._check_order("lower", "upper")
        self.input_lower = self._per_input("input_lower", input_lower)
        self.input_upper = self._per_input("input_upper", input_upper)
        self._check_order("input_lower", "input_upper")
        self.lipschitz = self._positive("lipschitz", self._per_input("lipschitz", lipschitz))
        self.monotone = directions(monotone, f"black box {self.name!r}")
        self.model = model
        self.declared_separable = None if separable is None else bool(separable)
        self.timeout = self._number("timeout", timeout, "a number of seconds above 0, or None")
        self.cost: float = self._number("cost", cost, "a number above 0") or 1.0
        self._argument_shapes: tuple[Shape, ...] | None = None
        self._labels: tuple[tuple[str, ...], ...] = ()
        self._whole: tuple[bool, ...] = ()
        functionlike = functools_target(fn)
        if functionlike is not None:
            self.__doc__ = functionlike.__doc__

    @property
    def outputs(self) -> int:
        """How many numbers it returns."""
        return int(np.prod(self.output_shape))

    @property
    def separable(self) -> bool:
        """True if it can be evaluated on its own: as declared, else if it has a function."""
        return self.fn is not None if self.declared_separable is None else self.declared_separable

    @property
    def is_exact(self) -> bool:
        """Whether its answers have no noise: it is declared with noise=0."""
        return self.noise is not None and not self.noise.any()

    @property
    def is_learned(self) -> bool:
        """Whether the hyper-parameters of its surrogate are learned from data."""
        return self.kernel is None or self.kernel.lengthscale is None

    @property
    def argument_shapes(self) -> tuple[Shape, ...] | None:
        """Shapes of its arguments; None until it is called with an expression."""
        return self._argument_shapes

    @property
    def inputs(self) -> int:
        """How many numbers it takes, all arguments together; known once it is called."""
        if self.argument_shapes is None:
            raise ProtocolError(f"black box {self.name!r} was never called with an expression")
        return sum(int(np.prod(shape)) for shape in self.argument_shapes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """An expression when an argument is one, else the plain function's value."""
        if not any(is_symbolic(a) for a in (*args, *kwargs.values())):
            if self.fn is None:
                raise ProtocolError(
                    f"black box {self.name!r} has no function (fn=None): it is evaluated outside"
                )
            return self.fn(*args, **kwargs)
        bound = self._bind(args, kwargs)
        self._settle_kinds(bound)
        return self.record(
            tuple(a.indicators if isinstance(a, Choice) else as_expression(a) for a in bound)
        )

    def _settle_kinds(self, arguments: tuple[Any, ...]) -> None:
        """Note which arguments are labels, or whole numbers in every call."""
        labels = tuple(a.labels if isinstance(a, Choice) else () for a in arguments)
        whole = tuple(isinstance(a, Integer) for a in arguments)
        if self._argument_shapes is None:
            self._labels, self._whole = labels, whole
        if len(labels) == len(self._labels):
            for number, (new, old) in enumerate(zip(labels, self._labels, strict=True)):
                if new != old:
                    raise self._fault(
                        f"takes {kind_text(old)} as argument {number + 1}, got {kind_text(new)}: "
                        "every call needs the same kinds, because one surrogate serves them all"
                    )
            self._whole = tuple(map(operator.and_, whole, self._whole))

    @property
    def argument_labels(self) -> tuple[tuple[str, ...], ...]:
        """The labels of each argument that is a choice; nothing for one that is not.

        Among the flat inputs, a choice is one number per label: 1 for the chosen one, else 0.
        """
        if not self._labels and self._argument_shapes is not None:
            return ((),) * len(self._argument_shapes)
        return self._labels

    @property
    def argument_is_whole(self) -> tuple[bool, ...]:
        """Which arguments are whole numbers in every call."""
        return self._whole or (False,) * len(self._argument_shapes or ())

    @property
    def input_hint(self) -> str:
        """What messages say behind the number of inputs, if that may surprise."""
        return " (a choice is one per label)" if any(self.argument_labels) else ""

    def record(self, arguments: tuple[Expression, ...]) -> Call:
        """A call with these expressions; the first call fixes the shapes of all later ones."""
        shapes = tuple(a.shape for a in arguments)
        if self.argument_shapes is None:
            # The one thing that a declaration cannot say: a signature has names, not shapes. It is
            # settled before a problem exists, because problems are built from calls.
            self._argument_shapes = shapes
            for what in ("input_lower", "input_upper"):
                given = getattr(self, what)
                if given is not None and given.shape not in ((), (self.inputs,)):
                    raise self._fault(
                        f"takes {counted(self.inputs, 'number')}{self.input_hint}, but {what} has "
                        f"shape {given.shape}: pass one number, or one per input"
                    )
            for what in ("lipschitz", "monotone"):
                given, who = getattr(self, what), f"black box {self.name!r}"
                check_shape_of_slopes(what, given, self.outputs, self.inputs, who, self.input_hint)
        elif shapes != self.argument_shapes:
            raise self._fault(
                f"takes {counts_text(self.argument_shapes)}, got {counts_text(shapes)}: every call "
                "needs the same shapes, because one surrogate serves them all; declare another "
                "black box for other shapes"
            )
        return Call(self, arguments)

    def evaluate(self, inputs: Array) -> Array:
        """Call the real function at flat `inputs`, and check its answer.

        Raises:
            EvaluationError: It raised, or did not return `outputs` finite numbers.
        """
        if self.fn is None:
            raise ProtocolError(
                f"black box {self.name!r} has no function (fn=None): give it one to solve here"
            )
        where = f"black box {self.name!r} at {self.describe(inputs)}"
        try:
            answer = self.fn(*self.split(inputs))
        except Exception as error:
            raise EvaluationError(f"{where} raised {raised(error)}") from error
        return self.check(answer, where)

    def check(self, answer: Any, where: str) -> Array:
        """The answer as a flat array of `outputs` finite numbers."""
        return checked_answer(answer, self.outputs, self.output_names, where, self.name, self.unit)

    def split(self, inputs: Array) -> list[Any]:
        """Flat inputs as the values the function is called with."""
        if self.argument_shapes is None:
            raise ProtocolError(f"black box {self.name!r} was never called with an expression")
        kinds = self.argument_shapes, self.argument_labels, self.argument_is_whole
        return argument_values(inputs, *kinds)

    def describe(self, inputs: Array) -> str:
        """Flat inputs as text, argument by argument."""
        return values_text(self.split(inputs))

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            signature = inspect.signature(self.fn) if self.fn is not None else None
        except (TypeError, ValueError):  # built-in functions may hide their signature
            signature = None
        if signature is None:
            return (*args, *kwargs.values())
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self._fault(f"is {self.name}{signature}: {text_of(error)}") from error
        if bound.kwargs:
            names = ", ".join(bound.kwargs)
            raise self._fault(f"has keyword-only arguments ({names}): make them positional")
        return bound.args

    def _per_output(self, what: str, given: ArrayLike | None) -> Array | None:
        fault = (
            f"{counted(self.outputs, 'output')} but {what}={shortened(given)}: pass one number, or "
            "one per output"
        )
        given = plain_numbers(
            given,
            entry_units(self.unit, 1),
            [what] * self.outputs,
            lambda text: self._fault(f"has a quantity as {what}: {text}"),
            is_spread=what != "lower" and what != "upper",
        )
        return self._numbers(what, given, (self.outputs,), fault)

    def _per_input(self, what: str, given: ArrayLike | None) -> Array | None:
        fault = f"{what}={shortened(given)}: pass one number, or one per input"
        return self._numbers(what, given, None, fault)

    def _numbers(
        self, what: str, given: ArrayLike | None, shape: Shape | None, fault: str
    ) -> Array | None:
        """The numbers given for an option, broadcast to a shape if one is known."""
        if given is None:
            return None
        try:
            array = real_numbers(given)
            array = array if shape is None else np.array(np.broadcast_to(array, shape))
        except (TypeError, ValueError) as error:
            raise self._fault(f"has {fault}") from error
        if np.isnan(array).any():
            raise self._fault(f"has {what}={shortened(given)}: NaN is no bound")
        return array

    def _positive(self, what: str, given: Array | None) -> Array | None:
        if given is not None and not (np.isfinite(given) & (given > 0)).all():
            raise self._fault(f"has {what}={shortened(given.tolist())}: it must be positive")
        return given

    def _number(self, what: str, given: Any, wanted: str) -> float | None:
        if given is None and what == "timeout":
            return None
        if not is_finite(given) or given <= 0:
            raise self._fault(f"has {what}={shortened(given)}: pass {wanted}")
        return float(given)

    def _check_order(self, low_name: str, high_name: str) -> None:
        low, high = getattr(self, low_name), getattr(self, high_name)
        if low is None or high is None:
            return
        fits = low.shape == high.shape or not low.shape or not high.shape
        if not fits or not (low < high).all():
            raise self._fault(
                f"has {low_name}={shortened(low.tolist())} and {high_name}="
                f"{shortened(high.tolist())}: each lower value must be below its upper value"
            )

    def _fault(self, text: str) -> ModelError:
        return ModelError(f"black box {self.name!r} {text}")

    def __repr__(self) -> str:
        return f"BlackBox({self.name!r}, outputs={self.outputs})"


@decorator
def black_box(fn: Callable[..., Any], /, **options: Any) -> BlackBox:
    """Declare a function as a black box: `@gs.black_box` or `@gs.black_box(outputs=2, noise=0)`.

    Takes the options of `BlackBox`.
    """
    return BlackBox(fn, **options)


# --- Values that go in and come out ---------------------------------------------------------------


def input_kinds(box: BlackBox) -> list[ValueKind]:
    """The kind of each value that a black box takes, all arguments side by side."""
    kinds: list[ValueKind] = []
    parts = zip(box.argument_shapes or (), box.argument_labels, box.argument_is_whole, strict=True)
    for shape, labels, is_whole in parts:
        kinds += [ValueKind(labels)] if labels else [ValueKind((), is_whole)] * int(np.prod(shape))
    return kinds


def value_names(box: BlackBox, names: Sequence[str]) -> list[str]:
    """A name for each value of a black box whose arguments are called so."""
    arguments = zip(names, box.argument_shapes or (), box.argument_labels, strict=False)
    return [
        entry
        for name, shape, labels in arguments
        for entry in entry_names(name, () if labels else shape)
    ]


def input_number_names(box: BlackBox, names: Sequence[str]) -> list[str]:
    """A name for each input number, from those of the values: `catalyst=A` for each label."""
    return [
        f"{name}={label}" if label else name
        for name, kind in zip(names, input_kinds(box), strict=True)
        for label in kind.labels or [""]
    ]


def shown_inputs(box: BlackBox, inputs: Array) -> list[Value]:
    """Flat inputs as people read them."""
    return readable_inputs(input_kinds(box), inputs)


def value_count(box: BlackBox) -> int:
    """How many values a black box takes: numbers and labels."""
    return len(input_kinds(box))


def output_names(box: BlackBox) -> list[str]:
    """What the outputs of a black box are called, in tables and on paper."""
    return list(box.output_names) or entry_names(
        box.name, () if box.outputs == 1 else (box.outputs,)
    )


def known_outputs(box: BlackBox) -> dict[str, set[int]]:
    """The place of every name that an output of a black box may be called by."""
    names = [*enumerate(output_names(box)), *enumerate(entry_names("output", (box.outputs,)))]
    return {spelled: {place} for place, n in reversed(names) for spelled in (f"{box.name}.{n}", n)}
