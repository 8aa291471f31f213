"""Retry limit: does telling a retry what was wrong help, and after how many attempts is another one wasted?"""
