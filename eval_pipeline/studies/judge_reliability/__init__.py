"""Reliability of judges: how often each is right of claims of each type, and whether trusting them so helps."""
