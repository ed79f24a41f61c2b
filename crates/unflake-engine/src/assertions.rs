//! Assertions: which there are, and which of them may fail.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use unflake_model::{Assertion, AssertionSite};
use unflake_protocol::Order;

use crate::engine::{Engine, Tell};

/// How long an agent may take to look through the sources.
const LOOKING: Duration = Duration::from_secs(120);
/// More assertions than these are not looked at.
const MOST_SITES: usize = 2_000_000;

#[derive(Default)]
pub(crate) struct Assertions {
    /// Where the agent has told all there are.
    pub(crate) sites: Option<PathBuf>,
    /// Where it is written which may fail.
    may_fail: Option<PathBuf>,
}

impl Engine {
    /// Every assertion of the project, once its tests have been listed. Otherwise why they cannot be told.
    pub fn sites(&mut self, tell: Tell<'_>) -> Result<Vec<AssertionSite>, String> {
        let untold = "this runner does not tell what assertions there are";
        let id = self.live.or(self.nursery);
        let environment = id.and_then(|id| self.environments.get_mut(&id)).ok_or(untold)?;
        environment.order(&Order::Sites).map_err(|error| format!("the runner does not listen: {error}"))?;
        let since = Instant::now();
        while self.assertions.sites.is_none() {
            if since.elapsed() > LOOKING
                || self.stopped().is_some()
                || !id.is_some_and(|id| self.environments.contains_key(&id))
            {
                return Err("the runner did not tell what assertions there are".to_owned());
            }
            self.turn(tell);
        }
        let path = self.assertions.sites.take().filter(|path| !path.as_os_str().is_empty()).ok_or(untold)?;
        let sites = read(&path).map_err(|error| format!("what assertions there are cannot be read: {error}"));
        let _ = fs::remove_file(path);
        sites
    }

    /// From now on these may fail, in every environment.
    pub fn let_fail(&mut self, assertions: &[Assertion]) -> io::Result<()> {
        let path = self.directory.path().join("may-fail");
        fs::write(&path, serde_json::to_vec(assertions)?)?;
        self.assertions.may_fail = Some(path);
        let all: Vec<u32> = self.environments.keys().copied().collect();
        all.into_iter().for_each(|id| self.tell_what_may_fail(id));
        Ok(())
    }

    /// Orders are carried out one after the other, so that it holds for whatever is ordered next. Copies know it from what they are
    /// copies of.
    pub(crate) fn tell_what_may_fail(&mut self, id: u32) {
        let Some(path) = &self.assertions.may_fail else { return };
        let path = path.to_string_lossy().into_owned();
        if let Some(environment) = self.environments.get_mut(&id).filter(|one| one.parent.is_none())
            && environment.connection.is_some()
            && environment.order(&Order::Filter { path }).is_err()
        {
            environment.kill();
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<AssertionSite>> {
    let lines = BufReader::new(fs::File::open(path)?).lines();
    lines.take(MOST_SITES).map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}
