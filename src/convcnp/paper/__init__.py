"""The paper's tables and figures, and what they are compared with."""
