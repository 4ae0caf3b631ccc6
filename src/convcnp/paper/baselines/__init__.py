"""What our models are compared with: methods of others, each a map from a task to a prediction."""
