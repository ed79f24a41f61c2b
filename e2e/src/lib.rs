//! End-to-end stories live in `tests/`; this library holds what they share.
