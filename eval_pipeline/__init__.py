"""Evaluations of LLM extraction and of LLM judges, whose verdicts can be defended."""
