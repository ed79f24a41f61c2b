//! The environments of a run, by their ids. Ids are unique and ascend.

use std::collections::BTreeMap;

use tracing::debug;
use unflake_protocol::Order;

use crate::environment::{Environment, Role};
use crate::runner_process::starter::RunnerProcess;

#[derive(Default)]
pub(crate) struct Environments {
    by_id: BTreeMap<u32, Environment>,
    next_id: u32,
}

impl Environments {
    /// Ids start here, so that no two worlds use the same ones.
    pub(crate) fn number_from(&mut self, first: u32) {
        self.next_id = first;
    }

    pub(crate) fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    pub(crate) fn add(&mut self, id: u32, role: Role, runner: RunnerProcess) {
        self.by_id.insert(id, Environment::new(id, role, Some(runner)));
    }

    /// Orders an environment to fork. None when it takes no orders.
    pub(crate) fn fork(
        &mut self,
        parent: u32,
        private: bool,
        seed: Option<u64>,
        settings: BTreeMap<String, String>,
    ) -> Option<&Environment> {
        let id = self.new_id();
        let parent = self.by_id.get_mut(&parent)?;
        if parent.order(&Order::Fork { environment: id, private, seed, settings }).is_err() {
            parent.kill();
            return None;
        }
        debug!(environment = id, parent = parent.id, steps = parent.state.steps, "forking");
        let child = Environment::forked_from(parent, id);
        Some(self.by_id.entry(id).or_insert(child))
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Environment> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Environment> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Environment> {
        self.by_id.remove(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Environment> {
        self.by_id.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Environment> {
        self.by_id.values_mut()
    }

    /// The ids of those that satisfy a condition.
    pub(crate) fn ids_where(&self, condition: impl Fn(&Environment) -> bool) -> Vec<u32> {
        self.iter().filter(|one| condition(one)).map(|one| one.id).collect()
    }

    /// Whether an environment has forks: a test that runs in it would see them as its children.
    pub(crate) fn has_forks(&self, id: u32) -> bool {
        self.iter().any(|one| one.parent == Some(id))
    }

    pub(crate) fn kill_all(&mut self) {
        self.iter_mut().for_each(Environment::kill);
    }
}
