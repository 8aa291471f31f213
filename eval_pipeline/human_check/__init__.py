"""The human check: a sheet that shows people texts and no verdicts, what they wrote on it, and how far they agree."""
