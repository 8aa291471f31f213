"""One module a study: its assets and its checks."""
