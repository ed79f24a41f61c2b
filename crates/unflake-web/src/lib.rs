//! A small HTTP/1.1 server for people on this machine: it listens on the loopback address and nowhere else.
//!
//! What is guaranteed:
//! 1. Whoever asks must name this machine (`Host`), so that a foreign page cannot come in under a name of its own that leads here.
//! 2. What writes (`POST`) comes from a page of ours (`Origin`), or from no page at all. Who may write is known by a [`Token`].
//! 3. A request is bounded in size and in time. Whoever is slow is shown out when others wait.
//! 4. When [`Server::run`] returns, no connection is open and none of its threads lives.
//!
//! Deliberately absent: what is served, files, encryption, keeping a connection for a second request.

mod access_control;
mod form;
mod request;
mod response;
mod server;

pub use access_control::Token;
pub use request::{Method, Request};
pub use response::Response;
pub use server::{Server, Stopper};
