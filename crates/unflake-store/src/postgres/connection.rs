//! Opens a connection, and runs what waits for the server.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{self, SslNegotiation};
use tokio_postgres::{Client, Config, Error};

use super::address::{ServerAddress, ServerHost};
use super::tls::{ChannelBinding, SslMode};
use super::transport::{Encryption, OpenTransport, Transport};
use crate::database::{DatabaseError, Result};
use crate::error::{CHECK_ADDRESS, GIVE_PASSWORD};

/// A server that sends nothing for this long is considered lost.
const READ_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a server may take to notice that the connection ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

const USE_UTF8: &str = "Create a UTF-8 database (createdb -E UTF8 -T template0 NAME)";
const USE_SCRAM: &str = "Configure scram-sha-256 in pg_hba.conf, and TLS if channel_binding=require";

/// A connection to a server. Everything runs in the thread that asks, and only while it waits.
pub(super) struct ServerConnection {
    runtime: Runtime,
    /// None only while the connection closes.
    client: Option<Client>,
    task: JoinHandle<Result<(), Error>>,
}

impl ServerConnection {
    pub(super) fn open(address: &ServerAddress) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let (client, task) = runtime.block_on(open(address))?;
        Ok(Self { runtime, client: Some(client), task })
    }

    /// Waits for what the client asks.
    pub(super) fn wait<'c, T, F>(&'c self, work: impl FnOnce(&'c Client) -> F) -> Result<T>
    where
        F: Future<Output = Result<T, Error>> + 'c,
    {
        match &self.client {
            Some(client) => self.complete(work(client)),
            None => Err(io::Error::from(io::ErrorKind::NotConnected).into()),
        }
    }

    /// Waits for what the server sends.
    pub(super) fn complete<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T> {
        match self.runtime.block_on(async { timeout(READ_TIMEOUT, work).await }) {
            Ok(result) => result.map_err(converted),
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.client.as_ref().is_none_or(Client::is_closed)
    }
}

impl Drop for ServerConnection {
    /// Without a goodbye the server logs an unexpected disconnect.
    fn drop(&mut self) {
        self.client = None;
        let task = &mut self.task;
        let _ = self.runtime.block_on(async { timeout(CLOSE_TIMEOUT, task).await });
    }
}

async fn open(address: &ServerAddress) -> Result<(Client, JoinHandle<Result<(), Error>>)> {
    let (first, second) = match (address.tls.mode, &address.host) {
        (_, ServerHost::Socket(_)) | (SslMode::Disable, _) => (Encryption::Never, None),
        (SslMode::Allow, _) => (Encryption::Never, Some(Encryption::Always)),
        (SslMode::Prefer, _) => (Encryption::IfPossible, Some(Encryption::Never)),
        (SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull, _) => (Encryption::Always, None),
    };
    let result = open_with(address, first).await;
    match (&result, second) {
        (Err(error), Some(second)) if may_depend_on_encryption(error) => {
            // The first error explains more, unless the second way got further.
            open_with(address, second).await.or(result)
        }
        _ => result,
    }
}

/// A failed handshake, or no rule in pg_hba.conf for this kind of connection.
fn may_depend_on_encryption(error: &DatabaseError) -> bool {
    match error {
        DatabaseError::Tls(_) => true,
        DatabaseError::Server { code, .. } => code == "28000",
        _ => false,
    }
}

async fn open_with(address: &ServerAddress, encryption: Encryption) -> Result<(Client, JoinHandle<Result<(), Error>>)> {
    let opening = async {
        let transport = Transport::open(address, encryption).await?;
        let is_encrypted = transport.is_encrypted();
        let mut config = Config::new();
        config
            .user(&address.user)
            .dbname(&address.database)
            .application_name("unflake")
            // The transport is encrypted already, if at all.
            .ssl_mode(config::SslMode::Require)
            .ssl_negotiation(SslNegotiation::Direct)
            .channel_binding(match address.tls.channel_binding {
                ChannelBinding::Disable => config::ChannelBinding::Disable,
                ChannelBinding::Prefer => config::ChannelBinding::Prefer,
                ChannelBinding::Require => config::ChannelBinding::Require,
            });
        if let Some(password) = &address.password {
            config.password(&password.0);
        }
        let connected = config.connect_raw(transport, OpenTransport).await;
        connected.map_err(|error| login_error(error, is_encrypted))
    };
    let (client, connection) = timeout(address.connect_timeout, opening)
        .await
        .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))?;
    match connection.parameter("server_encoding") {
        Some(encoding) if encoding != "UTF8" => {
            let why = format!("its database has the encoding {encoding}; UTF8 is required");
            Err(DatabaseError::Refused { why, next: USE_UTF8 })
        }
        _ => Ok((client, tokio::spawn(connection))),
    }
}

fn login_error(error: Error, is_encrypted: bool) -> DatabaseError {
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    let text = format!("{error}: {cause}");
    let refused = |why: &str, next| DatabaseError::Refused { why: why.to_owned(), next };
    if text.contains("password missing") {
        refused("the server asks for a password, and none was given", GIVE_PASSWORD)
    } else if text.contains("did not use channel binding") {
        let why = match is_encrypted {
            true => "the server does not bind the login to the connection (channel_binding=require)",
            false => "channel_binding=require needs an encrypted connection",
        };
        refused(why, USE_SCRAM)
    } else if text.starts_with("authentication error") {
        refused(&format!("the login failed ({cause})"), USE_SCRAM)
    } else if text.starts_with("error parsing response") || text.starts_with("unexpected message") {
        refused("the server there is not PostgreSQL", CHECK_ADDRESS)
    } else {
        converted(error)
    }
}

pub(super) fn converted(error: Error) -> DatabaseError {
    if let Some(server) = error.as_db_error() {
        let detail = server.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
        let text = format!("{}{detail}", server.message());
        return DatabaseError::Server { code: server.code().code().to_owned(), text };
    }
    if error.is_closed() {
        return io::Error::from(io::ErrorKind::UnexpectedEof).into();
    }
    let text = match std::error::Error::source(&error) {
        Some(source) => format!("{error} ({source})"),
        None => error.to_string(),
    };
    match error.into_source().map(|source| source.downcast::<io::Error>()) {
        Some(Ok(error)) => (*error).into(),
        _ => DatabaseError::Unreadable(text),
    }
}
