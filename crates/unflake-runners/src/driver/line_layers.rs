//! Layers of tests in native programs: the lines of a traced build, and what the processes printed.
//!
//! Used where a runner has traces and no agent that records layers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use unflake_observe::trace::{ExecutedCode, Project, TracedAttempt};

use crate::driver::test_result::TestResult;
use crate::process::bounded_text::shortened;

const CODE: &str = "code";
const INTERFACE: &str = "interface";

/// What to record of each attempt.
pub(crate) struct LineLayers {
    project: Project,
    /// Why there are no lines, where they were requested.
    pub(crate) gap: Option<String>,
    lines: bool,
    output: bool,
    output_limit: usize,
}

impl LineLayers {
    /// `layers`: joined by commas. None: nothing of it can be recorded here.
    pub(crate) fn new(layers: &str, root: &Path, output_limit: usize) -> Option<Self> {
        let wants = |layer: &str| layers.split(',').any(|one| one == layer);
        let (lines, output) = (wants(CODE), wants(INTERFACE));
        (lines || output).then(|| Self { project: Project::new(root), gap: None, lines, output, output_limit })
    }

    pub(crate) fn wants_lines(&self) -> bool {
        self.lines
    }

    /// Writes the file of an attempt and returns its path. None: it could not be written, so nothing is
    /// known of the attempt. `trace`: the readable trace, where there is one.
    pub(crate) fn write(&self, file: PathBuf, trace: Option<&Path>, result: &TestResult) -> Option<String> {
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(&file)?);
            let mut line = |elements: Json| writeln!(out, "{elements}");
            line(json!(["format", 1]))?;
            if self.lines {
                let (lines, gaps) = self.executed(trace);
                for (number, (path, lines)) in lines.iter().enumerate() {
                    line(json!(["file", number, path.to_string_lossy()]))?;
                    line(json!(["lines", number, lines.iter().map(|line| [line, line]).collect::<Vec<_>>()]))?;
                }
                for gap in gaps {
                    line(json!(["gap", CODE, gap]))?;
                }
            }
            let printed = [("stdout", &result.stdout), ("stderr", &result.stderr)];
            for (stream, text) in printed.into_iter().filter(|(_, text)| self.output && !text.is_empty()) {
                line(json!(["out", stream, shortened(text, self.output_limit)]))?;
            }
            out.flush()
        };
        write().is_ok().then(|| file.to_string_lossy().into_owned())
    }

    fn executed(&self, trace: Option<&Path>) -> (BTreeMap<PathBuf, BTreeSet<u32>>, Vec<String>) {
        if let Some(gap) = &self.gap {
            return (BTreeMap::new(), vec![gap.clone()]);
        }
        let attempt = trace.ok_or_else(|| "no process that was built for tracing took part".to_owned());
        match attempt.and_then(|path| TracedAttempt::open(path).map_err(|error| error.to_string())) {
            Ok(attempt) => ExecutedCode::lines(&attempt, &self.project),
            Err(why) => (BTreeMap::new(), vec![why]),
        }
    }
}
