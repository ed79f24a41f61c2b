//! Streams of server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// How often a source without news is asked again.
const PAUSE: Duration = Duration::from_millis(500);
/// How often a silent stream shows that it is alive, so that proxies keep it open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    pub name: &'static str,
    /// What a client that reconnects sends as `Last-Event-ID`.
    pub id: Option<i64>,
    pub data: String,
}

/// What has happened since a source was asked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Empty: nothing yet.
    More(Vec<ServerEvent>),
    /// The stream ends after these.
    Last(Vec<ServerEvent>),
}

/// Where the events of a stream come from. It is asked again and again, on a thread that may block.
pub type EventSource = Box<dyn FnMut() -> Feed + Send>;

struct Streamed {
    /// None: it has ended.
    source: Option<EventSource>,
    waiting: VecDeque<ServerEvent>,
}

pub(crate) fn stream(source: EventSource) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    let state = Streamed { source: Some(source), waiting: VecDeque::new() };
    let events = stream::unfold(state, |mut state| async move {
        loop {
            if let Some(event) = state.waiting.pop_front() {
                return Some((Ok::<_, Infallible>(encoded(event)), state));
            }
            let mut source = state.source.take()?;
            // A source that panics ends its stream.
            let (feed, source) = spawn_blocking(move || (source(), source)).await.ok()?;
            match feed {
                Feed::More(events) => {
                    if events.is_empty() {
                        sleep(PAUSE).await;
                    }
                    state.waiting.extend(events);
                    state.source = Some(source);
                }
                Feed::Last(events) => state.waiting.extend(events),
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

fn encoded(event: ServerEvent) -> sse::Event {
    let encoded = sse::Event::default().event(event.name).data(event.data);
    match event.id {
        Some(id) => encoded.id(id.to_string()),
        None => encoded,
    }
}
