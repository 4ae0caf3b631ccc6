"""A dictionary of Gaussian processes, averaged by evidence: predictions without any training."""
