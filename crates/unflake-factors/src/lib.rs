//! Factors as process set-up.
