//! One action on the server, from its start to its result, over lost connections.

use std::time::{Duration, Instant};

use prost::Message;
use tonic::{Code, Status, Streaming};
use tracing::debug;

use super::client::{ReapiClient, is_temporary, text_of};
use super::protocol::{
    ActionResult, CANCEL, CAPABILITIES, CapabilitiesRequest, Digest, EXECUTE, EXECUTING, ExecuteRequest,
    ExecuteResponse, Nothing, Operation, OperationMetadata, OperationName, RpcStatus, ServerCapabilities, WAIT,
};

/// How often to look for orders to stop while an action runs.
const TICK: Duration = Duration::from_millis(50);
/// A connection that says nothing for so long is tried with another call, which may take so long.
const QUIET: Duration = Duration::from_secs(15);
const TRIAL: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What the caller is asked while an action runs.
pub(super) trait Watcher {
    /// Whether the action is still wanted. `stage`: how far it is. The error says why it is not
    /// waited for any longer.
    fn look(&mut self, stage: i32) -> Result<bool, String>;
}

/// How an action ended.
#[derive(Debug)]
pub(super) enum ActionEnd {
    /// It ran to its end, whatever came out.
    Ran(ActionResult),
    /// It is not wanted any more.
    Stopped,
    /// It did not run to its end; another attempt may.
    Lost(String),
    /// The server does not have all of its inputs.
    InputsMissing(String),
    /// The server does not run actions like this one.
    Refused(String),
}

/// Executes an action whose inputs are stored.
pub(super) async fn execute(client: &ReapiClient, action: &Digest, watcher: &mut impl Watcher) -> ActionEnd {
    let mut follow = Follower { client, name: String::new(), stage: 0, heard: Instant::now() };
    let mut pause = Duration::from_millis(100);
    loop {
        let stream = match follow.name.as_str() {
            "" => {
                let request = ExecuteRequest {
                    instance_name: client.instance.clone(),
                    skip_cache_lookup: true,
                    action_digest: Some(action.clone()),
                };
                client.stream(EXECUTE, request).await
            }
            name => client.stream(WAIT, OperationName { name: name.to_owned() }).await,
        };
        let before = follow.heard;
        let status = match stream {
            Ok(stream) => match follow.follow(stream, watcher).await {
                Ok(end) => {
                    if !matches!(end, ActionEnd::Ran(_)) {
                        follow.cancel().await;
                    }
                    return end;
                }
                Err(status) => status,
            },
            Err(status) => status,
        };
        debug!(%status, operation = follow.name, "the connection with an action was lost");
        match status.code() {
            // The server has forgotten the operation: it runs again.
            Code::NotFound if !follow.name.is_empty() => follow.name.clear(),
            Code::NotFound | Code::FailedPrecondition => return ActionEnd::InputsMissing(text_of(&status)),
            code if is_temporary(code) => {}
            _ => return ActionEnd::Refused(text_of(&status)),
        }
        if follow.heard > before {
            pause = Duration::from_millis(100);
        } else if follow.heard.elapsed() > client.patience {
            return ActionEnd::Refused(text_of(&status));
        }
        let until = Instant::now() + pause;
        while Instant::now() < until {
            match watcher.look(follow.stage) {
                Ok(true) => tokio::time::sleep(TICK).await,
                Ok(false) => {
                    follow.cancel().await;
                    return ActionEnd::Stopped;
                }
                Err(why) => return ActionEnd::Refused(why),
            }
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Follows one operation.
struct Follower<'a> {
    client: &'a ReapiClient,
    /// Empty: it has none yet.
    name: String,
    stage: i32,
    heard: Instant,
}

impl Follower<'_> {
    /// Reads a stream to the end of the action. The error: the stream ended before that.
    async fn follow(
        &mut self,
        mut stream: Streaming<Operation>,
        watcher: &mut impl Watcher,
    ) -> Result<ActionEnd, Status> {
        let mut tried = Instant::now();
        loop {
            match tokio::time::timeout(TICK, stream.message()).await {
                Ok(message) => {
                    let Some(operation) = message? else {
                        return Err(Status::unavailable("the stream of the operation ended"));
                    };
                    (self.heard, tried) = (Instant::now(), Instant::now());
                    if let Some(end) = self.take(operation)? {
                        return Ok(end);
                    }
                }
                Err(_) if tried.elapsed() > QUIET => {
                    tried = Instant::now();
                    self.try_connection().await?;
                }
                Err(_) => {}
            }
            match watcher.look(self.stage) {
                Ok(true) => {}
                Ok(false) => return Ok(ActionEnd::Stopped),
                Err(why) => return Ok(ActionEnd::Refused(why)),
            }
        }
    }

    fn take(&mut self, operation: Operation) -> Result<Option<ActionEnd>, Status> {
        let decoded =
            |bytes: &[u8]| ExecuteResponse::decode(bytes).map_err(|error| Status::internal(error.to_string()));
        self.name.clone_from(&operation.name);
        let metadata = operation.metadata.as_ref().and_then(|any| OperationMetadata::decode(&any.value[..]).ok());
        self.stage = metadata.map_or(self.stage, |metadata| metadata.stage);
        if !operation.done {
            return Ok(None);
        }
        if let Some(error) = operation.error {
            return Ok(Some(failed(&error, None)));
        }
        let Some(response) = operation.response else {
            return Ok(Some(ActionEnd::Lost("the server gave no result".to_owned())));
        };
        let response = decoded(&response.value)?;
        let end = match response.status {
            Some(status) if status.code != 0 => failed(&status, response.result),
            _ => match response.result {
                Some(result) => ActionEnd::Ran(result),
                None => ActionEnd::Lost("the server gave no result".to_owned()),
            },
        };
        Ok(Some(end))
    }

    /// Whether the server answers at all: a silent stream says nothing about that.
    async fn try_connection(&self) -> Result<(), Status> {
        let request = CapabilitiesRequest { instance_name: self.client.instance.clone() };
        let call = self.client.once::<_, ServerCapabilities>(CAPABILITIES, request);
        match tokio::time::timeout(TRIAL, call).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(status)) if !is_temporary(status.code()) => Ok(()),
            _ => {
                self.client.reconnect();
                Err(Status::unavailable("the server does not answer"))
            }
        }
    }

    async fn cancel(&self) {
        if !self.name.is_empty() {
            let request = OperationName { name: self.name.clone() };
            if let Err(status) = self.client.once::<_, Nothing>(CANCEL, request).await {
                debug!(%status, operation = self.name, "an action was not cancelled");
            }
        }
    }
}

/// Whether an action is on a worker.
pub(super) fn is_executing(stage: i32) -> bool {
    stage >= EXECUTING
}

/// An action that the server did not run to its end. Its partial results count where there are any.
fn failed(status: &RpcStatus, result: Option<ActionResult>) -> ActionEnd {
    let code = Code::from(status.code);
    let text = text_of(&Status::new(code, status.message.clone()));
    match (code, result) {
        (_, Some(result)) if !result.output_files.is_empty() => ActionEnd::Ran(result),
        (Code::NotFound | Code::FailedPrecondition, _) => ActionEnd::InputsMissing(text),
        (Code::DeadlineExceeded, _) => ActionEnd::Lost("the action took longer than permitted".to_owned()),
        (code, _) if is_temporary(code) => ActionEnd::Lost(text),
        _ => ActionEnd::Refused(text),
    }
}
