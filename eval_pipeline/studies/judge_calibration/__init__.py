"""Judge calibration: how often a judge wrongly clears or wrongly flags, measured against a gold set."""
