"""Integer arithmetic over the names of dims, in a normal form in which `a+b` equals `b+a`."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Quotient:
    """A floor division, kept whole as one factor of a term."""

    over: Expression
    under: Expression

    def __str__(self) -> str:
        return f"({_grouped(self.over)}//{_grouped(self.under)})"


Factor: TypeAlias = str | Quotient
Term: TypeAlias = tuple[Factor, ...]
Linear: TypeAlias = tuple[int, tuple[tuple[str, int], ...]]
"""A constant, and names with their factors."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A sum of terms with coefficients; no term stands there twice, and none has the coefficient 0."""

    terms: tuple[tuple[Term, int], ...]

    @classmethod
    def constant(cls, value: int) -> Expression:
        """A fixed size."""
        return cls._of({(): value})

    @classmethod
    @lru_cache(maxsize=4096)
    def name(cls, name: str) -> Expression:
        """A single name."""
        return cls._of({(name,): 1})

    @classmethod
    def _of(cls, terms: Mapping[Term, int]) -> Expression:
        kept = [(term, factor) for term, factor in terms.items() if factor]
        return cls(tuple(sorted(kept, key=lambda item: [str(part) for part in item[0]])))

    def __add__(self, other: Expression) -> Expression:
        terms = dict(self.terms)
        for term, factor in other.terms:
            terms[term] = terms.get(term, 0) + factor
        return self._of(terms)

    def __neg__(self) -> Expression:
        return self._of({term: -factor for term, factor in self.terms})

    def __mul__(self, other: Expression) -> Expression:
        terms: dict[Term, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                product = tuple(sorted(left + right, key=str))
                terms[product] = terms.get(product, 0) + a * b
        return self._of(terms)

    def __floordiv__(self, other: Expression) -> Expression:
        return self._of({(Quotient(self, other),): 1})

    def names(self) -> Iterator[str]:
        """Every dim name in the expression, each as often as it stands there."""
        for term, _ in self.terms:
            for factor in term:
                if isinstance(factor, str):
                    yield factor
                else:
                    yield from factor.over.names()
                    yield from factor.under.names()

    def unbound(self, known: Container[str]) -> list[str]:
        """The names that are not known, each once."""
        return [name for name in dict.fromkeys(self.names()) if name not in known]

    def evaluate(self, sizes: Mapping[str, int]) -> int | None:
        """The size under the given names, or None where a name is unbound or a divisor is zero."""
        total = 0
        for term, coefficient in self.terms:
            product = coefficient
            for factor in term:
                if isinstance(factor, str):
                    value = sizes.get(factor)
                else:
                    over, under = factor.over.evaluate(sizes), factor.under.evaluate(sizes)
                    value = None if over is None or not under else over // under
                if value is None:
                    return None
                product *= value
            total += product
        return total

    def linear(self) -> Linear | None:
        """The constant, and each name with its factor, where no two names are multiplied or divided."""
        constant = 0
        factors: list[tuple[str, int]] = []
        for term, coefficient in self.terms:
            if not term:
                constant = coefficient
            elif len(term) == 1 and isinstance(term[0], str):
                factors.append((term[0], coefficient))
            else:
                return None
        return constant, tuple(factors)

    def isolates(self, name: str) -> bool:
        """Whether the name stands in it once and plainly, so that it follows from the size and the other names."""
        return list(self.names()).count(name) == 1 and any(term == (name,) for term, _ in self.terms)

    def solve(self, name: str, size: int, sizes: Mapping[str, int]) -> int | None:
        """The size of a name that is isolated, from the size of the whole; None where no whole number fits."""
        factor = dict(self.terms)[(name,)]
        rest = Expression(tuple(item for item in self.terms if item[0] != (name,))).evaluate(sizes)
        if rest is None or (size - rest) % factor:
            return None
        found = (size - rest) // factor
        return found if found >= 0 else None

    def substitute(self, names: Mapping[str, Expression]) -> Expression:
        """The expression with names replaced; names that are not in the mapping stay."""
        total = Expression(())
        for term, coefficient in self.terms:
            product = Expression.constant(coefficient)
            for factor in term:
                if isinstance(factor, str):
                    product = product * names.get(factor, Expression.name(factor))
                else:
                    product = product * (factor.over.substitute(names) // factor.under.substitute(names))
            total = total + product
        return total

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for term, coefficient in self.terms:
            size = abs(coefficient)
            body = "*".join(str(factor) for factor in term) if term else str(size)
            if term and size != 1:
                body = f"{size}*{body}"
            sign = "-" if coefficient < 0 else ("+" if text else "")
            text += sign + body
        return text


def _grouped(expression: Expression) -> str:
    text = str(expression)
    return f"({text})" if len(expression.terms) > 1 or "*" in text or text.startswith("-") else text
