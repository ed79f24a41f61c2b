//! The JVMs of a module: how the project divides classes among them, and the program that runs
//! tests in one of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::driver::program::{OutputListener, ProbeContext, Program};
use crate::driver::suite::TestCase;
use crate::jvm::module::{Jvm, JvmTest, outermost};
use crate::jvm::protocol::AgentListener;
use crate::process::files::relative;
use crate::process::prestarted::Prestarted;
use crate::process::spec::{EnvChanges, ProcessSpec};

/// The JVMs that the project wants for the tests of a module.
#[derive(Clone, Copy)]
pub(crate) struct Forks {
    /// How many JVMs run at the same time.
    pub(crate) at_once: usize,
    /// How many classes a JVM runs before another one replaces it. None: all that it gets.
    pub(crate) classes: Option<usize>,
    /// Whether classes are dealt out in turn. Otherwise each JVM gets neighbors.
    pub(crate) dealt: bool,
}

impl Forks {
    /// One JVM for all tests.
    pub(crate) const ONE: Self = Self { at_once: 1, classes: None, dealt: false };

    /// Whether each class has a JVM of its own.
    pub(crate) fn are_apart(&self) -> bool {
        self.classes == Some(1)
    }

    /// The JVM of each test, by a number, and its place among those that run at the same time. A
    /// class is in one JVM.
    pub(crate) fn divide(&self, tests: &[JvmTest]) -> Vec<(usize, usize)> {
        let at_once = self.at_once.max(1);
        let in_turn = self.dealt || self.classes.is_some();
        let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let divided = tests.iter().enumerate().map(|(at, test)| {
            let number = seen.len();
            *seen.entry(outermost(&test.class)).or_insert_with(|| {
                if !in_turn {
                    let place = at * at_once / tests.len();
                    return (place, place);
                }
                let place = number % at_once;
                let round = self.classes.map_or(0, |classes| number / at_once / classes.max(1));
                (round * at_once + place, place)
            })
        });
        divided.collect()
    }
}

/// The tests that share JVMs of a module.
pub(crate) struct JvmProgram {
    pub(crate) jvm: Arc<Jvm>,
    /// The number of its JVM among those that run at the same time, from 1 on.
    pub(crate) fork: usize,
    /// Whether the framework decides about order and threads, as the project configures it.
    pub(crate) as_configured: bool,
}

impl Program for JvmProgram {
    fn is_shared(&self) -> bool {
        true
    }

    fn is_ordered(&self) -> bool {
        !self.as_configured
    }

    /// Its threads are the project's business.
    fn uses_all_jobs(&self) -> bool {
        false
    }

    fn start(&self, tests: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        let (_, line) = self.jvm.write_order(tests, self.as_configured)?;
        let prestarted = Some(Prestarted { process: self.jvm.prestarted.clone(), line: line.clone() });
        let prestarted = prestarted.filter(|_| !self.jvm.is_numbered);
        Ok(ProcessSpec { prestarted, ..self.jvm.with_order(&line, tests.len(), self.fork)? })
    }

    fn start_probing(&self, tests: &[&TestCase], probe_context: &ProbeContext<'_>) -> Result<ProcessSpec, String> {
        self.jvm.start_probing(tests, probe_context)
    }

    fn can_isolate_in_process(&self) -> bool {
        self.jvm.can_isolate_in_process
    }

    fn start_in_process(&self, tests: &[&TestCase]) -> Result<ProcessSpec, String> {
        self.jvm.start_in_process(tests)
    }

    fn maps_files(&self) -> bool {
        true
    }

    fn record_files(&self, start: &mut ProcessSpec, directory: &Path, env_changes: &EnvChanges) -> bool {
        // Without the runtime there are no dependencies, and tests run all the same.
        self.jvm.record_files(start, directory, env_changes).is_ok()
    }

    fn dependency_report(&self, directory: &Path, after: usize) -> Option<String> {
        self.jvm.dependency_report(directory, after)
    }

    fn may_share_dependencies(&self, one: &TestCase, other: &TestCase) -> bool {
        let class = |test: &TestCase| test.id.split(['#', '$']).next().map(str::to_owned);
        class(one) == class(other)
    }

    fn listener(&self, tests: &[&TestCase]) -> Box<dyn OutputListener> {
        let jvm = self.jvm.clone();
        let path = move |file: &str| {
            let found = jvm.roots.iter().map(|root| root.join(file)).find(|path| path.is_file());
            found.map_or(file.to_owned(), |path| relative(&path, &jvm.root))
        };
        Box::new(AgentListener::new(&self.jvm.mark, tests.len(), path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_divided_among_jvms() {
        let test = |class: &str| JvmTest { key: String::new(), class: class.to_owned(), method: "m".to_owned() };
        let divided = |classes: &str, at_once, per_jvm, dealt| {
            let forks = Forks { at_once, classes: per_jvm, dealt };
            let tests: Vec<JvmTest> = classes.split(' ').map(test).collect();
            forks.divide(&tests).iter().map(|(jvm, place)| format!("{jvm}.{place}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(divided("A A B B", 2, None, false), "0.0 0.0 1.1 1.1");
        assert_eq!(divided("A A A A$I B C", 2, None, false), "0.0 0.0 0.0 0.0 1.1 1.1");
        assert_eq!(divided("A B C", 1, None, false), "0.0 0.0 0.0");
        assert_eq!(divided("A B A", 2, None, false), "0.0 0.0 0.0");
        assert_eq!(divided("A B C D E", 2, None, true), "0.0 1.1 0.0 1.1 0.0");
        assert_eq!(divided("A B C D E", 1, Some(2), true), "0.0 0.0 1.0 1.0 2.0");
        assert_eq!(divided("A B C D E", 2, Some(1), false), "0.0 1.1 2.0 3.1 4.0");
    }
}
