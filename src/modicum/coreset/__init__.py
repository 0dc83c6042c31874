"""Coresets: small weighted summaries on which a solution is nearly as good as on all rows."""
