"""Settings chosen from a user's own data."""
