"""From people's ratings of several systems to the claims that the ratings carry."""
