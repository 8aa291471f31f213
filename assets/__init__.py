"""The wiring for Dagster: assets, checks and jobs around the library; no computation and no decision."""
