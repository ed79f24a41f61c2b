//! A library without code: its tests use places outside of it.
