"""The studies: each asks one question, under one plan, and ends in findings and a verdict."""
