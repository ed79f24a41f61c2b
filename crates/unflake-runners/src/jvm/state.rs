//! The state that tests leave in a JVM: the agent in it takes, compares and restores snapshots
//! between two tests.
//!
//! The state of a class before its tests is known only if the class is initialized before them. So
//! a scout JVM runs the first tests and reports the classes that they initialize; the JVM that
//! counts initializes these at its start. A bare probe initializes only those that it restores.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::driver::program::{OutputListener, ProbeContext, ProgramEvent};
use crate::driver::suite::TestCase;
use crate::jvm::agent_options;
use crate::jvm::module::Jvm;
use crate::process::child;
use crate::process::spec::{ProcessEnd, ProcessSpec};

/// Begins the path of a cell that stands for the initialization of a class.
const CLASS: &str = "class ";

impl Jvm {
    /// The process that runs these tests and reports what the first of them leave behind.
    pub(crate) fn start_probing(
        &self,
        tests: &[&TestCase],
        probe_context: &ProbeContext<'_>,
    ) -> Result<ProcessSpec, String> {
        let probe = probe_context.probe;
        let after = probe.after as usize;
        let (classes, cells): (Vec<&String>, Vec<&String>) =
            probe.restore.iter().partition(|cell| probe.bare && cell.starts_with(CLASS));
        let classes: Vec<String> = match probe.bare {
            true => classes.into_iter().map(|cell| cell[CLASS.len()..].to_owned()).collect(),
            false => self.initialized_by(&tests[..after], probe_context)?,
        };
        let (order, line) = self.write_order(tests, false)?;
        let report = order.with_extension("changes");
        let (report, root) = (report.display(), self.root.display());
        let mut lines = vec![format!("after {after}"), format!("root {root}"), format!("report {report}")];
        lines.extend(classes.iter().map(|class| format!("class {class}")));
        lines.extend(cells.iter().map(|cell| format!("restore {}", escaped(cell))));
        lines.extend(probe.watch.iter().map(|cell| format!("watch {}", escaped(cell))));
        lines.extend(self.all_roots.iter().map(|root| format!("source {}", root.display())));
        self.with_state(&order, &line, tests.len(), &lines)
    }

    /// The classes that these tests initialize in a new JVM; found once.
    fn initialized_by(&self, tests: &[&TestCase], probe_context: &ProbeContext<'_>) -> Result<Vec<String>, String> {
        let mut hasher = DefaultHasher::new();
        tests.iter().for_each(|test| test.name.hash(&mut hasher));
        let known = self.run_dir.join(format!("classes-{}-{:016x}", self.number(), hasher.finish()));
        if !known.is_file() && !tests.is_empty() {
            let (order, line) = self.write_order(tests, false)?;
            let lines = [format!("after {}", tests.len()), format!("scout {}", known.display())];
            let start = self.with_state(&order, &line, tests.len(), &lines)?;
            let mut scout = ScoutListener(Instant::now());
            // The results of the scout do not count: its tests run again.
            child::follow(&start, probe_context.env_changes, probe_context.limits, &mut scout, |_| {})
                .map_err(|error| error.to_string())?;
        }
        Ok(fs::read_to_string(&known).unwrap_or_default().lines().map(str::to_owned).collect())
    }

    fn with_state(&self, order: &Path, line: &str, tests: usize, lines: &[String]) -> Result<ProcessSpec, String> {
        let wanted: PathBuf = order.with_extension("state");
        fs::write(&wanted, lines.join("\n")).map_err(|error| format!("{}: {error}", wanted.display()))?;
        let mut start = self.with_order(line, tests, 1)?;
        start.words.splice(1..1, agent_options::agent_option(&self.agent, &[("state", &wanted)]));
        Ok(start)
    }
}

/// Escapes a text for a line of its own.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

/// Waits for the end.
struct ScoutListener(Instant);

impl OutputListener for ScoutListener {
    fn since(&self) -> Option<Instant> {
        Some(self.0)
    }

    fn end(&mut self, _end: &ProcessEnd) -> Vec<ProgramEvent> {
        Vec::new()
    }
}
