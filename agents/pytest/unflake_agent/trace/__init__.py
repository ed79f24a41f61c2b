"""Records the lines that each attempt runs, in order, and the values of variables."""
