"""The judges: what they are asked, how their answers are read, and where every answer is kept."""
