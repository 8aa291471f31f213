"""Logs of other tools: what their scores show, with the uncertainty of the items that were asked."""
