"""How laws are tried: on the same 60 examples each time, however long one of them takes."""

from hypothesis import settings

LAW = settings(deadline=None, derandomize=True, max_examples=60)
