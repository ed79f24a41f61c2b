//! The pages through the real binary: what they show, who may write, and that nothing is left when they are over.

mod client;
mod stories;
mod writing;
