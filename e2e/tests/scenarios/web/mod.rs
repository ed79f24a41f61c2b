//! `unflake serve` and `unflake report`: what the pages show and who may write.

mod access;
mod client;
mod live;
mod pages;
mod roles;
