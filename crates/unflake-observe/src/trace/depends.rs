use std::collections::BTreeSet;
use std::env::var_os;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::trace::attempt::{Accesses, Attempt, Process};
use crate::trace::executed::Executed;
use crate::trace::files::{read_bounded, unescape_bytes};
use crate::trace::lines::{Project, Side};

/// A directory of a tool: named by an environment variable, or at a usual place below `$HOME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolHome {
    pub variable: &'static str,
    pub default: &'static str,
}

/// What is read of one process, whoever wrote it. The runtime's own bound is far below.
pub(crate) const LONGEST: u64 = 256 << 20;

/// Left out unless the project is below them: what is there belongs to the machine, and no change of the project is.
const SYSTEM: [&str; 12] =
    ["/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/proc", "/sys", "/dev", "/etc", "/run"];

/// All that what an attempt did may depend on.
///
/// Paths are relative to the project's root where they are below it, and absolute elsewhere. Left out are what the project
/// leaves out (`target`), directories of the system and of tools ([`Project::tool_homes`]), and those that the
/// attempt's own programs and its trace are in. A link is there twice if both ends are the project's: as it was named, and
/// where it leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Depends {
    /// Source files that were run through, as [`Executed`] has them.
    pub executed: BTreeSet<PathBuf>,
    pub read: BTreeSet<PathBuf>,
    /// There, and looked at without being opened.
    pub seen: BTreeSet<PathBuf>,
    /// Looked for and not there.
    pub missed: BTreeSet<PathBuf>,
    /// Directories, for the names in them.
    pub listed: BTreeSet<PathBuf>,
    /// Also made, renamed, removed.
    pub written: BTreeSet<PathBuf>,
    /// Programs that were started, those of the system too; a mere name where it is not known which one it was.
    pub programs: BTreeSet<PathBuf>,
    /// Why there may be more, in words; empty if this is all that instrumented programs did through the C library.
    pub gaps: Vec<String>,
}

impl Depends {
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty()
    }

    /// From an attempt that was symbolised.
    pub fn of(attempt: &Attempt, project: &Project) -> Depends {
        let Executed { files, gaps } = Executed::of(attempt, project);
        let mut depends = Depends { executed: files, gaps, ..Depends::default() };
        let border = Border::new(attempt, project);
        if attempt.unwritten {
            depends.gaps.push(lost(b"no-room"));
        }
        for process in &attempt.processes {
            depends.add(process, &border);
        }
        let opened =
            |path: &PathBuf| [&depends.read, &depends.listed, &depends.written].iter().any(|all| all.contains(path));
        depends.seen = depends.seen.iter().filter(|path| !opened(path)).cloned().collect();
        depends.gaps.sort();
        depends.gaps.dedup();
        depends
    }

    fn add(&mut self, process: &Process, border: &Border<'_>) {
        match &process.accesses {
            Accesses::Yes => {}
            Accesses::No => self.gaps.push("which files were opened was not recorded".to_owned()),
            Accesses::Without(name) => self.gaps.push(format!(
                "files may have been opened unseen: `{name}` is replaced in {}",
                process.executable.display()
            )),
        }
        let path = process.directory.join("files");
        if !path.exists() {
            return;
        }
        let text = match read_bounded(&path, LONGEST) {
            Ok(text) => text,
            Err(error) => return self.gaps.push(error.to_string()),
        };
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
            let (kind, rest) = (&line[..tab], unescape_bytes(line.get(tab + 1..).unwrap_or_default()));
            let accessed = Path::new(OsStr::from_bytes(&rest));
            let shown = accessed.display();
            match kind {
                b"read" => self.read.extend(border.kept(accessed)),
                b"seen" => self.seen.extend(border.kept(accessed)),
                b"missed" => self.missed.extend(border.kept(accessed)),
                b"listed" => self.listed.extend(border.kept(accessed)),
                b"wrote" => self.written.extend(border.kept(accessed)),
                b"loaded" if border.is_strange(accessed) => {
                    self.read.extend(border.kept(accessed));
                    self.gaps
                        .push(format!("loaded {shown}, which was not built for tracing: what it did is not known"));
                }
                b"loaded" => {}
                b"walked" => {
                    let walked = border.kept(accessed);
                    if !walked.is_empty() {
                        self.gaps.push(format!("walked through {shown}: what was met there is not known"));
                    }
                    self.listed.extend(walked);
                }
                b"started" | b"alone" => {
                    self.programs.insert(border.program(accessed));
                    if kind == b"alone" {
                        self.gaps
                            .push(format!("started {shown} with an environment of its own: what it did is not known"));
                    } else if !border.is_traced(accessed) {
                        self.gaps.push(format!("started {shown}: what it did is not known"));
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
        b"limit" => "there are more than are kept of one process",
        b"too-long" => "a path was too long",
        b"no-room" => "they could not be written down",
        other => return format!("files were left out: {}", String::from_utf8_lossy(other)),
    };
    format!("files were left out: {why}")
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What is kept and what is left out.
struct Border<'a> {
    project: &'a Project,
    left_out: Vec<PathBuf>,
    /// So many of them, from the first on, have nothing of the project.
    strangers: usize,
    /// Programs that wrote a trace of their own.
    traced: BTreeSet<PathBuf>,
    /// Programs and libraries with places in them.
    instrumented: BTreeSet<PathBuf>,
}

impl<'a> Border<'a> {
    fn new(attempt: &Attempt, project: &'a Project) -> Border<'a> {
        let home = var_os("HOME").map(PathBuf::from);
        let tool = |variable: &str, usual: &str| {
            var_os(variable).map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(usual)))
        };
        let modules = attempt.processes.iter().flat_map(|process| &process.modules);
        let instrumented = modules.map(|module| real(&module.path)).collect();
        let mut left_out: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        left_out.extend(project.tool_homes.iter().filter_map(|home| tool(home.variable, home.default)));
        let strangers = left_out.len();
        let parents = attempt.processes.iter().flat_map(|one| [one.executable.parent(), one.directory.parent()]);
        left_out.extend(parents.flatten().map(Path::to_owned));
        left_out.retain(|directory| directory.parent().is_some()); // All that there is is below the root.
        let traced = attempt.processes.iter().map(|process| process.executable.clone()).collect();
        Border { project, left_out, strangers, traced, instrumented }
    }

    /// The path or paths that this one is kept as.
    fn kept(&self, path: &Path) -> BTreeSet<PathBuf> {
        // `..` behind a link leads elsewhere than the words say; where the path is gone the words are all there is.
        let real = fs::canonicalize(path).ok();
        let up = path.components().any(|part| part == std::path::Component::ParentDir);
        let named = Some(path).filter(|_| real.is_none() || !up);
        [named, real.as_deref()].into_iter().flatten().filter_map(|path| self.keep(path)).collect()
    }

    fn keep(&self, path: &Path) -> Option<PathBuf> {
        match self.project.side(path) {
            Side::Inside(path) => Some(path),
            Side::LeftOut => None,
            Side::Outside(path) => (!self.left_out.iter().any(|directory| path.starts_with(directory))).then_some(path),
        }
    }

    fn program(&self, path: &Path) -> PathBuf {
        match self.project.side(path) {
            Side::Inside(inside) if path.is_absolute() => inside,
            _ => path.to_owned(),
        }
    }

    /// Whether a library may have code of the project that left no trace. What is built into `target` and is not
    /// instrumented is a dependency's.
    fn is_strange(&self, path: &Path) -> bool {
        let elsewhere = match self.project.side(path) {
            Side::Inside(_) => false,
            Side::LeftOut => true,
            Side::Outside(path) => self.left_out[..self.strangers].iter().any(|directory| path.starts_with(directory)),
        };
        !elsewhere && !self.instrumented.contains(&real(path))
    }

    fn is_traced(&self, path: &Path) -> bool {
        self.traced.contains(path) || fs::canonicalize(path).is_ok_and(|real| self.traced.contains(&real))
    }
}
