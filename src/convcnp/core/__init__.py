"""Algorithm 1: a task, its grid, set convolutions, networks, distributions and units."""
