//! Computes everything that an attempt depends on: source files, data files and programs.

use std::collections::BTreeSet;
use std::env::var_os;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::trace::attempt::{Accesses, Process, TracedAttempt};
use crate::trace::executed::ExecutedCode;
use crate::trace::files::{read_bounded, unescape_bytes};
use crate::trace::lines::{PathSide, Project};

/// A directory of a tool: named by an environment variable, or at a usual place below `$HOME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolHome {
    pub variable: &'static str,
    pub default: &'static str,
}

/// Limit of the untrusted input per process, far above the limit of the runtime.
pub(crate) const MAX_FILES: u64 = 256 << 20;

/// Excluded unless the project is inside: these directories belong to the system, and no change of
/// the project affects them.
const SYSTEM: [&str; 12] =
    ["/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/proc", "/sys", "/dev", "/etc", "/run"];

/// Everything that an attempt may depend on.
///
/// Paths are relative to the root of the project if they are inside, and absolute otherwise.
/// Excluded are the directories that the project excludes (`target`), system directories, those of
/// tools ([`Project::tool_homes`]), and the directories of the attempt's own programs and trace. A symbolic link is included twice if both ends belong to the project: as the link, and as
/// its target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Depends {
    /// ExecutedCode source files, as in [`ExecutedCode`].
    pub executed: BTreeSet<PathBuf>,
    pub read: BTreeSet<PathBuf>,
    /// Exists, and was checked without being opened.
    pub seen: BTreeSet<PathBuf>,
    /// Checked, and does not exist.
    pub missed: BTreeSet<PathBuf>,
    /// Directories whose entries were listed.
    pub listed: BTreeSet<PathBuf>,
    /// Includes created, renamed and removed files.
    pub written: BTreeSet<PathBuf>,
    /// Started programs, including those of the system; a bare name if the path is unknown.
    pub programs: BTreeSet<PathBuf>,
    /// Why the lists may be incomplete; empty if they contain everything that instrumented programs
    /// did through the C library.
    pub gaps: Vec<String>,
}

impl Depends {
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty()
    }

    /// From a symbolised attempt.
    pub fn of(attempt: &TracedAttempt, project: &Project) -> Depends {
        let ExecutedCode { files, gaps } = ExecutedCode::of(attempt, project);
        let mut depends = Depends { executed: files, gaps, ..Depends::default() };
        let filter = PathFilter::new(attempt, project);
        if attempt.unwritten {
            depends.gaps.push(lost(b"no-room"));
        }
        for process in &attempt.processes {
            depends.add(process, &filter);
        }
        let opened =
            |path: &PathBuf| [&depends.read, &depends.listed, &depends.written].iter().any(|all| all.contains(path));
        depends.seen = depends.seen.iter().filter(|path| !opened(path)).cloned().collect();
        depends.gaps.sort();
        depends.gaps.dedup();
        depends
    }

    fn add(&mut self, process: &Process, filter: &PathFilter<'_>) {
        match &process.accesses {
            Accesses::Yes => {}
            Accesses::No => self.gaps.push("which files were opened was not recorded".to_owned()),
            Accesses::Without(name) => self.gaps.push(format!(
                "files may have been opened unobserved: `{name}` is replaced in {}",
                process.executable.display()
            )),
        }
        let path = process.directory.join("files");
        if !path.exists() {
            return;
        }
        let text = match read_bounded(&path, MAX_FILES) {
            Ok(text) => text,
            Err(error) => return self.gaps.push(error.to_string()),
        };
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
            let (kind, rest) = (&line[..tab], unescape_bytes(line.get(tab + 1..).unwrap_or_default()));
            let accessed = Path::new(OsStr::from_bytes(&rest));
            let shown = accessed.display();
            match kind {
                b"read" => self.read.extend(filter.recorded_as(accessed)),
                b"seen" => self.seen.extend(filter.recorded_as(accessed)),
                b"missed" => self.missed.extend(filter.recorded_as(accessed)),
                b"listed" => self.listed.extend(filter.recorded_as(accessed)),
                b"wrote" => self.written.extend(filter.recorded_as(accessed)),
                b"loaded" if filter.may_be_untraced(accessed) => {
                    self.read.extend(filter.recorded_as(accessed));
                    self.gaps.push(format!("loaded {shown}, which was not built for tracing: its effects are unknown"));
                }
                b"loaded" => {}
                b"walked" => {
                    let walked = filter.recorded_as(accessed);
                    if !walked.is_empty() {
                        self.gaps.push(format!("walked through {shown}: the files found there are unknown"));
                    }
                    self.listed.extend(walked);
                }
                b"started" | b"alone" => {
                    self.programs.insert(filter.program(accessed));
                    if kind == b"alone" {
                        self.gaps
                            .push(format!("started {shown} with an environment of its own: its effects are unknown"));
                    } else if !filter.is_traced(accessed) {
                        self.gaps.push(format!("started {shown}: its effects are unknown"));
                    }
                }
                b"lost" => self.gaps.push(lost(&rest)),
                _ => self.gaps.push(format!("not understood: {:?}", String::from_utf8_lossy(line))),
            }
        }
    }
}

pub(crate) fn lost(why: &[u8]) -> String {
    let why = match why {
        b"limit" => "too many in one process",
        b"too-long" => "a path was too long",
        b"no-room" => "they could not be written",
        other => return format!("some files are missing: {}", String::from_utf8_lossy(other)),
    };
    format!("some files are missing: {why}")
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Decides which paths are included.
struct PathFilter<'a> {
    project: &'a Project,
    left_out: Vec<PathBuf>,
    /// The first directories in the list, which never contain files of the project.
    external: usize,
    /// Programs that wrote their own trace.
    traced: BTreeSet<PathBuf>,
    /// Instrumented programs and libraries.
    instrumented: BTreeSet<PathBuf>,
}

impl<'a> PathFilter<'a> {
    fn new(attempt: &TracedAttempt, project: &'a Project) -> PathFilter<'a> {
        let home = var_os("HOME").map(PathBuf::from);
        let tool = |variable: &str, usual: &str| {
            var_os(variable).map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(usual)))
        };
        let modules = attempt.processes.iter().flat_map(|process| &process.modules);
        let instrumented = modules.map(|module| real(&module.path)).collect();
        let mut left_out: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        left_out.extend(project.tool_homes.iter().filter_map(|home| tool(home.variable, home.default)));
        let external = left_out.len();
        let parents = attempt.processes.iter().flat_map(|one| [one.executable.parent(), one.directory.parent()]);
        left_out.extend(parents.flatten().map(Path::to_owned));
        left_out.retain(|directory| directory.parent().is_some()); // Everything is below the root directory.
        let traced = attempt.processes.iter().map(|process| process.executable.clone()).collect();
        PathFilter { project, left_out, external, traced, instrumented }
    }

    /// The path or paths under which this one is recorded.
    fn recorded_as(&self, path: &Path) -> BTreeSet<PathBuf> {
        // `..` after a symbolic link must be resolved by the file system; if the path no longer
        // exists, only its text is left.
        let real = fs::canonicalize(path).ok();
        let up = path.components().any(|part| part == std::path::Component::ParentDir);
        let named = Some(path).filter(|_| real.is_none() || !up);
        [named, real.as_deref()].into_iter().flatten().filter_map(|path| self.keep(path)).collect()
    }

    fn keep(&self, path: &Path) -> Option<PathBuf> {
        match self.project.side(path) {
            PathSide::Inside(path) => Some(path),
            PathSide::LeftOut => None,
            PathSide::Outside(path) => {
                (!self.left_out.iter().any(|directory| path.starts_with(directory))).then_some(path)
            }
        }
    }

    fn program(&self, path: &Path) -> PathBuf {
        match self.project.side(path) {
            PathSide::Inside(inside) if path.is_absolute() => inside,
            _ => path.to_owned(),
        }
    }

    /// Whether a library may contain untraced code of the project. An uninstrumented library in
    /// `target` belongs to a dependency.
    fn may_be_untraced(&self, path: &Path) -> bool {
        let elsewhere = match self.project.side(path) {
            PathSide::Inside(_) => false,
            PathSide::LeftOut => true,
            PathSide::Outside(path) => {
                self.left_out[..self.external].iter().any(|directory| path.starts_with(directory))
            }
        };
        !elsewhere && !self.instrumented.contains(&real(path))
    }

    fn is_traced(&self, path: &Path) -> bool {
        self.traced.contains(path) || fs::canonicalize(path).is_ok_and(|real| self.traced.contains(&real))
    }
}
