//! The assertion filter: lists the assertions of the project, and which of them are allowed to
//! fail.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tracing::debug;
use unflake_model::{Assertion, AssertionSite};
use unflake_protocol::Order;

use crate::engine::{Engine, EventSink};

/// How long an agent may take to read the sources.
const LISTING_TIMEOUT: Duration = Duration::from_secs(120);
/// Further assertions are ignored.
const MAX_SITES: usize = 2_000_000;

#[derive(Default)]
pub(crate) struct AllowedFailures {
    /// The file in which an agent has listed all assertions. An empty path: it knows none.
    listed: Option<PathBuf>,
    /// The file with the assertions that are allowed to fail.
    allowed: Option<PathBuf>,
}

impl AllowedFailures {
    pub(crate) fn listed(&mut self, path: String) {
        self.listed = Some(path.into());
    }
}

impl Engine {
    /// Every assertion of the project, once its tests have been listed. The error is for the user.
    pub fn sites(&mut self, sink: EventSink<'_>) -> Result<Vec<AssertionSite>, String> {
        let unsupported = "this runner does not list assertions";
        let id = self.suite.live().or(self.suite.forked()).or(self.fork_server.id()).ok_or(unsupported)?;
        let environment = self.environments.get_mut(id).ok_or(unsupported)?;
        environment.order(&Order::Sites).map_err(|error| format!("the runner takes no orders: {error}"))?;
        let since = Instant::now();
        while self.assertions.listed.is_none() {
            let is_gone = self.environments.get(id).is_none();
            if since.elapsed() > LISTING_TIMEOUT || self.stop.reason().is_some() || is_gone {
                return Err("the runner did not list its assertions".to_owned());
            }
            self.turn(sink);
        }
        let listed = self.assertions.listed.take();
        let path = listed.filter(|path| !path.as_os_str().is_empty()).ok_or(unsupported)?;
        let sites = read(&path).map_err(|error| format!("the list of assertions cannot be read: {error}"));
        let _ = fs::remove_file(path);
        sites
    }

    /// From now on these assertions are allowed to fail, in every environment.
    pub fn let_fail(&mut self, assertions: &[Assertion]) -> io::Result<()> {
        debug!(assertions = assertions.len(), "assertions are allowed to fail");
        let path = self.starter.run_dir().join("may-fail");
        fs::write(&path, serde_json::to_vec(assertions)?)?;
        self.assertions.allowed = Some(path);
        for id in self.environments.ids_where(|_| true) {
            self.send_allowed_assertions(id);
        }
        Ok(())
    }

    /// Agents execute orders in sequence, so that this applies to everything ordered later. Forks
    /// inherit it.
    pub(crate) fn send_allowed_assertions(&mut self, id: u32) {
        let Some(path) = &self.assertions.allowed else { return };
        let path = path.to_string_lossy().into_owned();
        if let Some(environment) = self.environments.get_mut(id).filter(|one| one.parent.is_none())
            && environment.connection.is_some()
        {
            environment.order_or_kill(&Order::Filter { path });
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<AssertionSite>> {
    let lines = BufReader::new(fs::File::open(path)?).lines();
    lines.take(MAX_SITES).map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}
