"""The math oracle: does an expression have the expected value? It is read as a tree, and nothing of it is executed."""

import ast
from collections.abc import Callable
from fractions import Fraction
from math import isinf
from typing import Any

import sympy  # type: ignore[import-untyped]
from sympy import Expr, Integer, Rational

from eval_pipeline.studies.judge_reliability.oracles.answer import (
    Answer,
    Content,
    Unavailable,
    content_of,
    told,
    untold,
)

_CHARACTERS = 500
_BITS = 100_000  # of a value on the way
_DIGITS = 60  # to which a value that is no fraction is computed


class MathContent(Content):
    """An expression and the value that it is said to have, either as a text; the value may be a number."""

    expression: str
    expected: str | int | float


class _Unreadable(Exception):
    """What stands there is no expression of this oracle."""


class _TooLarge(Exception):
    """A value on the way has more digits than the oracle computes with."""


class _NoNumber(Exception):
    """The expression has no value, or none that is a real number."""


def math_answer(content: Any, *, tolerance: Fraction) -> Answer:
    """Whether the value of the expression is the expected one, to the tolerance.

    Decimals are exact: .1 + .2 is .3. A division by zero, an infinity and a complex number have no value that could
    be the expected one, not even an infinity, and the claim fails. `^` and `**` are powers, of which the principal
    value counts, and `%` is the remainder with the divisor's sign.
    """
    claim = content_of(content, MathContent)
    if isinstance(claim, Answer):
        return claim
    try:
        value, expected = _number(claim.expression), _number(str(claim.expected))
        distance = _comparable(sympy.Abs(value - expected))
    except _Unreadable as error:
        return untold(Unavailable.UNREADABLE, str(error))
    except (_TooLarge, RecursionError, MemoryError):
        return untold(Unavailable.BEYOND_ITS_MEANS, "a value on the way is too large to be computed")
    except _NoNumber as error:
        return told(False, str(error))
    near = bool(distance <= Rational(tolerance.numerator, tolerance.denominator))
    return told(near, f"the value is {sympy.N(value, 15)}")


def _number(text: str) -> Expr:
    """The value of an expression, a real number."""
    if len(text) > _CHARACTERS:
        raise _TooLarge
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise _Unreadable(f"{text!r} is no expression: {error}") from None
    value = _value(tree.body)
    _comparable(value)
    return value


def _value(node: ast.expr) -> Expr:
    match node:
        case ast.Constant(value=bool() | str() | bytes() | complex() | None):
            raise _Unreadable(f"{node.value!r} is no real number")
        case ast.Constant(value=int() | float() as number):
            if isinf(number):
                raise _TooLarge
            return _within(Rational(str(number)))
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.Name(id=name) if name.lower() in ("inf", "infinity", "nan"):
            raise _NoNumber(f"{name} is no number")
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _within(_OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            arguments = [_value(argument) for argument in node.args]
            try:
                return _within(_FUNCTIONS[name](*arguments))
            except ValueError:
                raise _NoNumber(f"{name} of what cannot be compared has no value") from None
            except TypeError:
                raise _Unreadable(f"{name}: found {len(arguments)} arguments, expected another number") from None
    raise _Unreadable(f"{ast.unparse(node)!r} is nothing that this oracle reads")


def _within(value: Expr) -> Expr:
    """A finite value that is not too large to go on with."""
    if value.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        raise _NoNumber("a value on the way is infinite or undefined")
    if isinstance(value, Rational):
        if max(value.p.bit_length(), value.q.bit_length()) > _BITS:
            raise _TooLarge
    elif abs(value.evalf(15)) > Integer(2) ** _BITS:
        raise _TooLarge
    return value


def _comparable(value: Expr) -> Expr:
    """The value as a real number that others can be compared with."""
    number = value if isinstance(value, Rational) else value.evalf(_DIGITS)
    if number.is_real is not True:
        raise _NoNumber(f"{sympy.N(value, 15)} is no real number")
    return number


def _divided(left: Expr, right: Expr) -> Expr:
    if right.equals(0):
        raise _NoNumber("a division by zero has no value")
    return left / right


def _remainder(left: Expr, right: Expr) -> Expr:
    if right.equals(0):
        raise _NoNumber("a division by zero has no value")
    return sympy.Mod(left, right)


def _power(base: Expr, exponent: Expr) -> Expr:
    if base.equals(0) and sympy.re(exponent).is_negative:
        raise _NoNumber("a division by zero has no value")
    digits = max(base.p.bit_length(), base.q.bit_length()) if isinstance(base, Rational) else 1
    if abs(exponent.evalf(15)) * digits > _BITS:
        raise _TooLarge
    return base**exponent


def _whole(name: str, at_most: int, of: Callable[..., Expr]) -> Callable[..., Expr]:
    """A function of whole numbers from 0 to a bound."""

    def applied(*values: Expr) -> Expr:
        for value in values:
            if not value.is_Integer or value < 0:
                raise _NoNumber(f"{name} of {value} has no value")
            if value > at_most:
                raise _TooLarge
        return of(*values)

    return applied


def _exponential(value: Expr) -> Expr:
    return _power(sympy.E, value)


def _logarithm(value: Expr, base: Expr | None = None) -> Expr:
    if value.equals(0) or (base is not None and (base.equals(0) or base.equals(1))):
        raise _NoNumber("that logarithm has no value")
    return sympy.log(value) if base is None else sympy.log(value) / sympy.log(base)


_OPERATORS: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: _divided,
    ast.Mod: _remainder,
    ast.Pow: _power,
}
_NAMES = {"pi": sympy.pi, "e": sympy.E}
_FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "abs": sympy.Abs,
    "sqrt": sympy.sqrt,
    "exp": _exponential,
    "log": _logarithm,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": sympy.tan,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "min": sympy.Min,
    "max": sympy.Max,
    "factorial": _whole("factorial", 2_000, sympy.factorial),
    "combinations": _whole("combinations", 2_000, sympy.binomial),
    "permutations": _whole("permutations", 2_000, sympy.ff),
    "gcd": _whole("gcd", 10**30, sympy.gcd),
    "lcm": _whole("lcm", 10**30, sympy.lcm),
}
