"""A trained model for users."""
