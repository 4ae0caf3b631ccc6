"""Sources of images with missing pixels."""
