"""Schedules: delays threads and tasks at lines that a seed or the user chooses."""
