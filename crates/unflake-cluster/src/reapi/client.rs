//! Calls to a server: the connection with TLS and headers, and what to do about errors.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use http::uri::PathAndQuery;
use prost::Message;
use tonic::client::Grpc;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tracing::debug;

use super::options::ReapiServer;
use super::protocol::{CAPABILITIES, CapabilitiesRequest, SHA256, ServerCapabilities};
use crate::pool::ClusterError;

const CONNECT: Duration = Duration::from_secs(10);
/// A call that says nothing for so long has failed.
const ANSWER: Duration = Duration::from_secs(60);
/// Messages that are received may be so long.
const LONGEST: usize = 64 << 20;
/// How long to wait before a call is repeated that failed for now.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a server may be out of reach that has never answered.
const FIRST_PATIENCE: Duration = Duration::from_secs(3);

/// A connection that is made when it is needed, and again after it was lost.
pub(super) struct ReapiClient {
    endpoint: Endpoint,
    channel: Mutex<Channel>,
    headers: Vec<(AsciiMetadataKey, AsciiMetadataValue)>,
    pub(super) instance: String,
    /// How long the server may be out of reach.
    pub(super) patience: Duration,
}

impl ReapiClient {
    /// Must be called in the runtime.
    pub(super) fn new(server: &ReapiServer, patience: Duration) -> Result<Self, ClusterError> {
        let scheme = if server.is_secure { "https" } else { "http" };
        let wrong = |what: &str, error: &dyn std::fmt::Display| ClusterError(format!("{what}: {error}"));
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", server.address))
            .map_err(|error| wrong(&server.address, &error))?
            .connect_timeout(CONNECT)
            .tcp_keepalive(Some(Duration::from_secs(20)));
        if server.is_secure {
            let read = |path: &Path| fs::read(path).map_err(|error| wrong(&path.display().to_string(), &error));
            let mut tls = ClientTlsConfig::new();
            tls = match &server.authorities {
                Some(path) => tls.ca_certificate(Certificate::from_pem(read(path)?)),
                None => tls.with_native_roots(),
            };
            if let (Some(certificate), Some(key)) = (&server.certificate, &server.key) {
                tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
            }
            endpoint = endpoint.tls_config(tls).map_err(|error| wrong("TLS", &causes(&error)))?;
        }
        let header = |(name, value): (&String, &String)| {
            let value = AsciiMetadataValue::try_from(value.as_str()).ok()?;
            Some((name.parse::<AsciiMetadataKey>().ok()?, value))
        };
        let headers = server.headers.iter().map(|pair| {
            header(pair).ok_or_else(|| ClusterError(format!("{} is not a header that can be sent", pair.0)))
        });
        Ok(Self {
            headers: headers.collect::<Result<_, _>>()?,
            channel: Mutex::new(endpoint.connect_lazy()),
            endpoint,
            instance: server.instance.clone(),
            patience,
        })
    }

    /// Gives up the connection: the next call makes another.
    pub(super) fn reconnect(&self) {
        *self.channel.lock().expect("no thread panics while it has the lock") = self.endpoint.connect_lazy();
    }

    async fn grpc(&self) -> Result<Grpc<Channel>, Status> {
        let channel = self.channel.lock().expect("no thread panics while it has the lock").clone();
        let mut grpc = Grpc::new(channel).max_decoding_message_size(LONGEST);
        grpc.ready().await.map_err(|error| Status::unavailable(causes(&error)))?;
        Ok(grpc)
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        for (name, value) in &self.headers {
            request.metadata_mut().insert(name.clone(), value.clone());
        }
        request
    }

    /// A call with one answer, once.
    pub(super) async fn once<Q, R>(&self, path: &'static str, message: Q) -> Result<R, Status>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        let call = async {
            let mut grpc = self.grpc().await?;
            let codec = ProstCodec::<Q, R>::new();
            grpc.unary(self.request(message), PathAndQuery::from_static(path), codec).await
        };
        answer(call).await.map(Response::into_inner)
    }

    /// A call with one answer, repeated while it fails for now.
    pub(super) async fn call<Q, R>(&self, path: &'static str, message: Q) -> Result<R, Status>
    where
        Q: Message + Clone + 'static,
        R: Message + Default + 'static,
    {
        self.repeated(path, self.patience, || self.once(path, message.clone())).await
    }

    /// Repeats what fails for now.
    pub(super) async fn repeated<R, F>(
        &self,
        what: &str,
        patience: Duration,
        mut call: impl FnMut() -> F,
    ) -> Result<R, Status>
    where
        F: Future<Output = Result<R, Status>>,
    {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match call().await {
                Err(status) if is_temporary(status.code()) && began.elapsed() < patience => {
                    debug!(what, %status, "again after a while");
                }
                answer => return answer,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// A call with a stream of answers.
    pub(super) async fn stream<Q, R>(&self, path: &'static str, message: Q) -> Result<Streaming<R>, Status>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        let call = async {
            let mut grpc = self.grpc().await?;
            let codec = ProstCodec::<Q, R>::new();
            grpc.server_streaming(self.request(message), PathAndQuery::from_static(path), codec).await
        };
        answer(call).await.map(Response::into_inner)
    }

    /// A call with a stream of messages and one answer.
    pub(super) async fn send_all<Q, R>(
        &self,
        path: &'static str,
        messages: impl futures_util::Stream<Item = Q> + Send + 'static,
    ) -> Result<R, Status>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        let mut grpc = self.grpc().await?;
        let codec = ProstCodec::<Q, R>::new();
        let answer = grpc.client_streaming(self.request(messages), PathAndQuery::from_static(path), codec).await;
        answer.map(Response::into_inner)
    }

    /// What the server can do. The error says why it cannot be used.
    pub(super) async fn capabilities(&self) -> Result<ServerCapabilities, String> {
        let request = CapabilitiesRequest { instance_name: self.instance.clone() };
        let patience = self.patience.min(FIRST_PATIENCE);
        let answer = self.repeated(CAPABILITIES, patience, || self.once(CAPABILITIES, request.clone())).await;
        let capabilities: ServerCapabilities = answer.map_err(|status: Status| text_of(&status))?;
        let execution = capabilities.execution.as_ref();
        if !execution.is_some_and(|execution| execution.exec_enabled) {
            return Err("the server does not execute actions".to_owned());
        }
        let functions = capabilities.cache.as_ref().map_or(&[][..], |cache| &cache.digest_functions);
        if !functions.is_empty() && !functions.contains(&SHA256) {
            return Err("the server does not use SHA-256".to_owned());
        }
        Ok(capabilities)
    }
}

async fn answer<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let late = |_| Status::unavailable(format!("no answer within {} s", ANSWER.as_secs()));
    tokio::time::timeout(ANSWER, call).await.map_err(late)?
}

/// Whether the same call may succeed later.
pub(super) fn is_temporary(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Internal
            | Code::Unknown
            | Code::Cancelled
            | Code::DeadlineExceeded
    )
}

/// An error for the user.
pub(super) fn text_of(status: &Status) -> String {
    let text = match status.message() {
        "" => status.code().description().to_owned(),
        text => text.lines().next().unwrap_or_default().chars().take(300).collect(),
    };
    match status.code() {
        Code::Unauthenticated => format!("the server does not accept the authentication: {text}"),
        Code::PermissionDenied => format!("the server does not permit it: {text}"),
        Code::Unavailable => format!("the server cannot be reached: {text}"),
        _ => format!("the server reports: {text}"),
    }
}

/// An error with what caused it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
