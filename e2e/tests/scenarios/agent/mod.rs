//! The agent: its messages, and errors inside it.

mod faults;
mod protocol;
