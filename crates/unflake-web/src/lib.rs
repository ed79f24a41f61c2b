//! Small HTTP/1.1 server for the loopback interface.
//!
//! Guarantees:
//! 1. The `Host` of a request names this machine, so that DNS rebinding does not reach it.
//! 2. A writing request (`POST`) has our own `Origin` or none. A [`AccessToken`] identifies who may
//!    write.
//! 3. Requests are bounded in size and time. A slow client is disconnected when others wait.
//! 4. When [`Server::run`] returns, no connection is open and no thread of it is left.
//!
//! Deliberately absent: the content, files, TLS, and persistent connections.

mod access_control;
mod form;
mod request;
mod response;
mod server;

pub use access_control::AccessToken;
pub use request::{Method, Request};
pub use response::Response;
pub use server::{Server, Stopper};
