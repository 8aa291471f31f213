"""Estimators: arrays in, numbers or intervals out."""
