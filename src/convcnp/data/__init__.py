"""Sources of tasks, one per file."""
