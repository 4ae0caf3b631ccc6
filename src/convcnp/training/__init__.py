"""From an experiment to a run's directory."""
