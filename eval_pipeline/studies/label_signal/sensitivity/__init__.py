"""Would the conclusions survive if the assumptions were wrong? Other worlds, other thresholds, and all at once."""
