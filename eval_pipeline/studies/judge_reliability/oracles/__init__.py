"""Oracles: programs that know whether a claim holds, or say that they cannot tell."""
