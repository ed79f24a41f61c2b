//! The files that tests in a JVM depend on: every file that the process used, with compiled classes
//! mapped to their sources.
//!
//! The native runtime records files: it is preloaded and intercepts the C library; classes stay
//! unchanged. Tests of one process share a report, because a class that one test has loaded is used
//! by the next without a file access.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use unflake_observe::trace::{FileAccesses, Limits, TraceRuntime, TracedAttempt};

use crate::jvm::class_file::ClassFile;
use crate::jvm::module::Jvm;
use crate::process::files::relative;
use crate::process::spec::{EnvChanges, ProcessSpec};

const PRELOAD: &str = "LD_PRELOAD";
/// Directories of the system.
const SYSTEM: [&str; 11] =
    ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/proc", "/sys", "/dev", "/etc", "/run"];

/// The dependency report of `agents/README.md` (28).
#[derive(Default, Serialize)]
struct DependencyReport {
    format: u32,
    root: PathBuf,
    after: usize,
    executed: BTreeSet<String>,
    read: BTreeSet<String>,
    written: BTreeSet<String>,
    listed: BTreeSet<String>,
    looked: BTreeSet<String>,
    missed: BTreeSet<String>,
    searched: BTreeMap<String, BTreeSet<String>>,
    programs: Vec<UsedProgram>,
    outside: BTreeMap<&'static str, BTreeSet<PathBuf>>,
    unknown: BTreeSet<String>,
}

#[derive(Serialize)]
struct UsedProgram {
    program: PathBuf,
    followed: bool,
}

impl Jvm {
    /// Makes a process record the files that it uses.
    pub(crate) fn record_files(
        &self,
        start: &mut ProcessSpec,
        directory: &Path,
        env_changes: &EnvChanges,
    ) -> Result<(), String> {
        let runtime = TraceRuntime::lay_out(&self.cache).map_err(|error| error.to_string())?;
        let variables = TraceRuntime::tracing(directory, Limits::default(), None).map_err(|error| error.to_string())?;
        for (name, value) in variables {
            start.variables.insert(name.to_owned(), Some(value.to_string_lossy().into_owned()));
        }
        let of_project = start.variables.get(PRELOAD).or_else(|| env_changes.get(PRELOAD)).cloned();
        let there = of_project.unwrap_or_else(|| std::env::var(PRELOAD).ok()).filter(|text| !text.is_empty());
        let ours = runtime.library().to_string_lossy().into_owned();
        start.variables.insert(PRELOAD.to_owned(), Some(there.map_or(ours.clone(), |there| format!("{ours}:{there}"))));
        // A prestarted process has used files that were not recorded.
        start.prestarted = None;
        Ok(())
    }

    /// Writes the dependency report for a test that ran after `after` others.
    pub(crate) fn dependency_report(&self, directory: &Path, after: usize) -> Option<String> {
        let used = match TracedAttempt::open(directory) {
            Ok(attempt) => FileAccesses::of(&attempt),
            Err(error) => FileAccesses { gaps: [error.to_string()].into(), ..FileAccesses::default() },
        };
        let mut report =
            DependencyReport { format: 1, root: repository(&self.root), after, ..DependencyReport::default() };
        report.unknown.extend(used.gaps.iter().cloned());
        report
            .programs
            .extend(used.programs.iter().map(|program| UsedProgram { program: program.clone(), followed: true }));
        let outputs = self.outputs();
        let sources = SourceMapper { jvm: self, outputs: &outputs };
        used.read.iter().for_each(|path| sources.read(path, &mut report));
        used.missed.iter().for_each(|path| sources.missed(path, &mut report));
        used.listed.iter().for_each(|path| sources.other(path, "listed", &mut report));
        used.written.iter().for_each(|path| sources.other(path, "written", &mut report));
        outputs.iter().for_each(|output| sources.constants(output, output, &mut report));
        let path = directory.with_extension(format!("depends-{after}"));
        let text = serde_json::to_vec(&report).ok()?;
        fs::write(&path, text).ok()?;
        Some(path.to_string_lossy().into_owned())
    }

    /// Directories of the class path: what was compiled from the project.
    fn outputs(&self) -> Vec<PathBuf> {
        self.class_path.iter().map(PathBuf::from).filter(|path| path.is_dir()).map(|path| plain(&path)).collect()
    }
}

struct SourceMapper<'a> {
    jvm: &'a Jvm,
    outputs: &'a [PathBuf],
}

impl SourceMapper<'_> {
    fn read(&self, path: &Path, report: &mut DependencyReport) {
        let path = plain(path);
        match self.in_output(&path) {
            Some((output, name)) if path.is_file() => self.compiled(output, &name, &path, report),
            // The output directories themselves belong to the build.
            Some(_) => {}
            None => self.other(&path, if path.is_dir() { "looked" } else { "read" }, report),
        }
    }

    /// Places where a new class would replace one that this class mentions.
    fn shadows(&self, name: &Path, class: &ClassFile, report: &mut DependencyReport) {
        let package = name.parent().unwrap_or(Path::new(""));
        for root in &self.jvm.all_roots {
            let directory = relative(&plain(root).join(package), &report.root);
            report.searched.entry(directory).or_default().extend(class.names.iter().cloned());
        }
    }

    /// Maps a compiled file to its source.
    fn compiled(&self, output: &Path, name: &Path, path: &Path, report: &mut DependencyReport) {
        let is_class = name.extension().is_some_and(|kind| kind == "class");
        let found = if is_class { self.sources_of(name, path) } else { self.resources(output, name) };
        if let Some(class) = Some(path).filter(|_| is_class).and_then(ClassFile::read) {
            self.shadows(name, &class, report);
        }
        if found.is_empty() {
            let what = name.display();
            report.unknown.insert(format!("it uses {what}, whose source file is unknown"));
        }
        if !is_class {
            self.missed_sources(self.resource_roots(output), name, report);
        }
        for source in found {
            let list = if is_class { &mut report.executed } else { &mut report.read };
            list.insert(relative(&source, &report.root));
        }
    }

    fn sources_of(&self, name: &Path, path: &Path) -> Vec<PathBuf> {
        let package = name.parent().unwrap_or(Path::new(""));
        let source = ClassFile::read(path).and_then(|class| class.source);
        let outermost = name.to_string_lossy().split(['$', '.']).next().map(|name| format!("{name}.java"));
        let below = source.map(|source| package.join(source)).or(outermost.map(PathBuf::from));
        let roots = self.jvm.all_roots.iter().map(|root| plain(root));
        below
            .into_iter()
            .flat_map(|below| roots.clone().map(move |root| root.join(&below)))
            .filter(|path| path.is_file())
            .collect()
    }

    /// Sources of a resource, as build tools copy them by default.
    fn resources(&self, output: &Path, name: &Path) -> Vec<PathBuf> {
        self.resource_roots(output).into_iter().map(|root| root.join(name)).filter(|path| path.is_file()).collect()
    }

    /// Directories of resources beside the sources.
    fn resource_roots(&self, output: &Path) -> Vec<PathBuf> {
        let roots = self.jvm.all_roots.iter().map(|root| plain(root));
        let beside = roots.clone().filter_map(|root| Some(root.parent()?.join("resources")));
        // Of the module that was compiled there.
        let near = |root: &PathBuf| {
            output.ancestors().take(5).any(|above| above.parent().is_some() && root.starts_with(above))
        };
        beside.chain(roots).filter(near).collect()
    }

    /// A file that appears at this path would be used.
    fn missed(&self, path: &Path, report: &mut DependencyReport) {
        let path = plain(path);
        let Some((output, name)) = self.in_output(&path) else { return self.other(&path, "missed", report) };
        let is_class = name.extension().is_some_and(|kind| kind == "class");
        let (roots, name) = match is_class {
            true => {
                let text = name.to_string_lossy();
                let outermost = text.split(['$', '.']).next().unwrap_or(&text);
                (
                    self.jvm.all_roots.iter().map(|root| plain(root)).collect(),
                    PathBuf::from(format!("{outermost}.java")),
                )
            }
            false => (self.resource_roots(output), name),
        };
        self.missed_sources(roots, &name, report);
    }

    /// A file that appears at this path below one of the roots, which may not exist either, would
    /// be used.
    fn missed_sources(&self, roots: Vec<PathBuf>, name: &Path, report: &mut DependencyReport) {
        for root in roots {
            // The first missing part of the path.
            let mut way = root;
            for part in name.components() {
                way.push(part);
                if !way.exists() {
                    report.missed.insert(relative(&way, &report.root));
                    break;
                }
            }
        }
    }

    fn other(&self, path: &Path, exit: &'static str, report: &mut DependencyReport) {
        let path = plain(path);
        if self.is_installed(&path) {
            return;
        }
        // A JVM looks at its working directory whatever it runs.
        if exit == "looked" && self.jvm.directory().is_some_and(|directory| directory.starts_with(&path)) {
            return;
        }
        if !path.starts_with(&report.root) {
            report.outside.entry(exit).or_default().insert(path);
            return;
        }
        let name = relative(&path, &report.root);
        let list = match exit {
            "listed" => &mut report.listed,
            "written" => &mut report.written,
            "missed" => &mut report.missed,
            "looked" => &mut report.looked,
            _ => &mut report.read,
        };
        list.insert(if name.is_empty() { ".".to_owned() } else { name });
        let real = fs::canonicalize(&path).ok().filter(|real| *real != path && real.starts_with(&report.root));
        list.extend(real.map(|real| relative(&real, &report.root)));
    }

    /// Libraries, the JVM and its own files, and unflake's.
    fn is_installed(&self, path: &Path) -> bool {
        let jvm = self.jvm;
        let ours = [jvm.run_dir.as_path(), jvm.cache.as_path()];
        let of_path = |entry: &String| Path::new(entry) == path && !path.starts_with(&jvm.root);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        SYSTEM.iter().map(Path::new).chain(ours).any(|system| path.starts_with(system))
            || jvm.home.as_ref().is_some_and(|home| path.starts_with(home))
            || jvm.class_path.iter().any(of_path)
            || path.components().any(|part| part.as_os_str().to_string_lossy().starts_with("hsperfdata_"))
            || name.starts_with(".java_pid")
            || name == ".hotspotrc"
            || name == ".hotspot_compiler"
            || path.starts_with(jvm.root.join(".unflake"))
    }

    /// Sources of constants that compilers may have copied from classes that were never loaded.
    fn constants(&self, directory: &Path, output: &Path, report: &mut DependencyReport) {
        for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                self.constants(&path, output, report);
            } else if path.extension().is_some_and(|kind| kind == "class")
                && ClassFile::read(&path).is_some_and(|class| class.is_copied())
                && let Ok(name) = path.strip_prefix(output)
            {
                let sources = self.sources_of(name, &path);
                report.read.extend(sources.iter().map(|source| relative(source, &report.root)));
            }
        }
    }

    fn in_output(&self, path: &Path) -> Option<(&Path, PathBuf)> {
        let output = self.outputs.iter().find(|output| path.starts_with(output))?;
        Some((output, path.strip_prefix(output).ok()?.to_owned()))
    }
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The directory of the repository, or of the project without one.
fn repository(here: &Path) -> PathBuf {
    here.ancestors().find(|above| above.join(".git").exists()).unwrap_or(here).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_known_by_where_they_lead() {
        assert_eq!(plain(Path::new("/a/./b/../c/")), Path::new("/a/c"));
        assert_eq!(plain(Path::new("/a/b/..")), Path::new("/a"));
    }
}
