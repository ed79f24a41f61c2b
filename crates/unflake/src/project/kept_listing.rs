//! The listing of an earlier run, kept beside the history. It is used again where nothing has changed
//! that listing the tests depends on, because many suites take seconds to be collected.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unflake_model::Test;
use unflake_store::{LearnedDependencies, Revision, StoreLocation, create_hidden_dir};

use crate::hash;
use crate::run_loop::Gathered;

/// Of the file's format.
const VERSION: u32 = 1;
/// All environment variables; their names are not compared.
const ALL: &str = "*";

#[derive(Serialize, Deserialize)]
pub(crate) struct KeptListing {
    version: u32,
    pub(crate) runner: Option<String>,
    pub(crate) root: Option<PathBuf>,
    pub(crate) tests: Vec<Test>,
    commit: Option<String>,
    dirty: Option<bool>,
    changed: Vec<String>,
    /// Hashes of the environment variables that tests are known to read.
    variables: BTreeMap<String, String>,
}

impl KeptListing {
    /// The listing that a run has just made.
    pub(crate) fn new(record: &Gathered, revision: Revision, known: &[LearnedDependencies]) -> Self {
        let names: BTreeSet<&String> = known.iter().flat_map(|one| &one.on.variables).collect();
        Self {
            version: VERSION,
            runner: record.runner.clone(),
            root: record.root.clone(),
            tests: record.tests.clone(),
            commit: revision.commit,
            dirty: revision.dirty,
            changed: revision.changed,
            variables: names.into_iter().map(|name| (name.clone(), value(name))).collect(),
        }
    }

    /// The latest listing of this command in this directory, if the variables are the same.
    pub(crate) fn find(location: &StoreLocation, command: &[String], here: &Path) -> Option<Self> {
        let text = fs::read(file(location, command, here)?).ok()?;
        let found: Self = serde_json::from_slice(&text).ok()?;
        let is_same = |(name, before): (&String, &String)| name == ALL || value(name) == *before;
        (found.version == VERSION && !found.tests.is_empty() && found.variables.iter().all(is_same)).then_some(found)
    }

    /// Keeps it for later. That it cannot be kept is no error: then tests are listed again.
    pub(crate) fn keep(&self, location: &StoreLocation, command: &[String], here: &Path) {
        let Some(file) = file(location, command, here) else { return };
        let write = || {
            create_hidden_dir(&location.dir).ok()?;
            fs::create_dir_all(file.parent()?).ok()?;
            let unfinished = file.with_extension(format!("{}.tmp", std::process::id()));
            fs::write(&unfinished, serde_json::to_vec(self).ok()?).ok()?;
            fs::rename(unfinished, &file).ok()
        };
        if write().is_none() {
            tracing::debug!(file = %file.display(), "the listing was not kept");
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        let (commit, dirty, changed) = (self.commit.clone(), self.dirty, self.changed.clone());
        Revision { commit, tree: None, dirty, changed }
    }
}

/// None: nothing is kept there.
fn file(location: &StoreLocation, command: &[String], here: &Path) -> Option<PathBuf> {
    if location.to_string() == StoreLocation::MEMORY {
        return None;
    }
    let words = serde_json::to_vec(&(command, here)).ok()?;
    Some(location.dir.join("listings").join(format!("{}.json", hash::hex(&words))))
}

fn value(name: &str) -> String {
    env::var_os(name).map_or_else(String::new, |value| hash::hex(value.as_encoded_bytes()))
}
