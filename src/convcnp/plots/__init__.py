"""Pictures of what was predicted."""
