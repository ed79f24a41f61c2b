"""Talks to unflake, runs tests, forks the process. Every run loads this package."""
