"""Fire rate: how often the self check finds that a plan was changed under it, and whether its fallback is reached."""
