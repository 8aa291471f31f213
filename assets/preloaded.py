"""What each step finds done where a run has several processes: the definitions, built and resolved before the fork."""

from assets.definitions import defs

defs().get_repository_def()
