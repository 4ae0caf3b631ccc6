"""Maps from tasks to predictive distributions, one per file."""
