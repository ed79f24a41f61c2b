//! What tests leave behind in a JVM: the agent in it remembers, compares and puts back, between two tests of one process.
//!
//! What was in a class before its tests is known only if it was initialised before them. So a JVM goes ahead that runs the tests which
//! come first, and says which classes they initialise; the one that counts initialises these at its beginning.

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

impl Jvm {
    /// The process that runs these tests, and tells what the first of them leave behind.
    pub(crate) fn start_probing(
        &self,
        tests: &[&TestCase],
        probe_context: &ProbeContext<'_>,
    ) -> Result<ProcessSpec, String> {
        let after = probe_context.probe.after as usize;
        let classes = self.initialised_by(&tests[..after], probe_context)?;
        let (order, line) = self.write_order(tests)?;
        let told = order.with_extension("told");
        let (told, root) = (told.display(), self.root.display());
        let mut lines = vec![format!("after {after}"), format!("root {root}"), format!("tell {told}")];
        lines.extend(classes.iter().map(|class| format!("class {class}")));
        lines.extend(probe_context.probe.restore.iter().map(|cell| format!("restore {}", escaped(cell))));
        self.with_state(&order, &line, tests.len(), &lines)
    }

    /// Which classes tests initialise that run in a new JVM; found out once.
    fn initialised_by(&self, tests: &[&TestCase], probe_context: &ProbeContext<'_>) -> Result<Vec<String>, String> {
        let mut hasher = DefaultHasher::new();
        tests.iter().for_each(|test| test.name.hash(&mut hasher));
        let known = self.run_dir.join(format!("classes-{}-{:016x}", self.number(), hasher.finish()));
        if !known.is_file() && !tests.is_empty() {
            let (order, line) = self.write_order(tests)?;
            let lines = [format!("after {}", tests.len()), format!("scout {}", known.display())];
            let start = self.with_state(&order, &line, tests.len(), &lines)?;
            let mut scout = ScoutListener(Instant::now());
            // How its tests end is nobody's business: they run once more.
            child::follow(&start, probe_context.env_changes, probe_context.limits, &mut scout, |_| {})
                .map_err(|error| error.to_string())?;
        }
        Ok(fs::read_to_string(&known).unwrap_or_default().lines().map(str::to_owned).collect())
    }

    fn with_state(&self, order: &Path, line: &str, tests: usize, lines: &[String]) -> Result<ProcessSpec, String> {
        let wanted: PathBuf = order.with_extension("state");
        fs::write(&wanted, lines.join("\n")).map_err(|error| format!("{}: {error}", wanted.display()))?;
        let mut start = self.with_order(line, tests);
        start.words.splice(1..1, agent_options::hook(&self.agent, &[("state", &wanted)]));
        Ok(start)
    }
}

/// For a line of its own.
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
