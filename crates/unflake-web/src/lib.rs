//! HTTP server on axum, with TLS where asked.
//!
//! Guarantees:
//! 1. The `Host` of a request is a name of this site, so that DNS rebinding does not reach it.
//! 2. A writing request (`POST`) has our own `Origin` or none.
//! 3. Requests are bounded in size and time. A client that stalls is disconnected, and the oldest
//!    connection goes when there are too many.
//! 4. When [`Server::run`] returns, no connection is open and no thread of it is left.
//!
//! Deliberately absent: the content, files, users, roles, and who may write.

mod connection;
mod events;
mod form;
mod request;
mod response;
mod server;
mod site;
mod stall_guard;
mod tls;

pub use events::{EventSource, Feed, ServerEvent};
pub use request::{Method, Request};
pub use response::Response;
pub use server::{Server, Stopper};
pub use site::Site;
pub use tls::Tls;
