"""Finds, restores and watches the state that tests leave behind."""
