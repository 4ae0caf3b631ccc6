"""Speed and memory of the package, as ratios to a plain version where one exists."""
