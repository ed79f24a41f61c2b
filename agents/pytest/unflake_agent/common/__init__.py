"""Shared by the other packages: paths, names, texts of values, import hooks."""
