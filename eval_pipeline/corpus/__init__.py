"""The pinned corpus: read once from where it lives, hashed, and never asked for again."""
