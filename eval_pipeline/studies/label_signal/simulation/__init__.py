"""Raters who are simulated: they stand in where nobody has rated, and whatever comes of them is labelled so."""
