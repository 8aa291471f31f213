"""Where chance comes from: each computation has a generator of its own, seeded by the plan and by what it is for."""

from hashlib import sha256

import numpy as np

_DIGITS = 12


def rng_of(*parts: object) -> np.random.Generator:
    """A generator that the parts alone seed, by sha256: the same in every process, and whatever ran before."""
    text = "::".join(str(part) for part in parts)
    return np.random.default_rng(int(sha256(text.encode()).hexdigest()[:_DIGITS], 16))
