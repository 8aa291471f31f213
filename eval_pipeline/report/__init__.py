"""The report: findings as pages that a person reads; it computes nothing."""
