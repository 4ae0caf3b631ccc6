"""What others predict with, to compare with: one per file."""
