"""Two annotators of the same notes: their propositions aligned, held against each other, and each judged."""
