"""The correction for what the judge gets wrong: what people check, what that makes of each estimate, what decides."""
