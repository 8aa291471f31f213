"""Extraction completeness: how much of a note do its signals recover, from every part of it, and without inventions?"""
