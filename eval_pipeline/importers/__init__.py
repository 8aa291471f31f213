"""Logs of other tools, read strictly: bytes in, scores out; no statistics."""
