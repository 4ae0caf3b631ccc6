"""A user's table: read, understood, turned into arrays, and back; without torch."""
