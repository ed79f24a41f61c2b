//! What tests in a JVM depended on: every file that its process used, with compiled classes taken back to their sources.
//!
//! Files are seen by the native runtime, which is loaded before the JVM and stands before the C library; nothing is done to
//! classes. Tests that share a process share what is known of it: a class that one has loaded is used by the next unseen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use unflake_observe::trace::{Attempt, FileAccesses, Limits, Runtime};

use crate::driver::suite::{self, Start, World};
use crate::jvm::class_file::ClassFile;
use crate::jvm::module::Jvm;

const PRELOAD: &str = "LD_PRELOAD";
/// What is installed, or the machine's own.
const SYSTEM: [&str; 11] =
    ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/proc", "/sys", "/dev", "/etc", "/run"];

/// As the contract has it (28).
#[derive(Default, Serialize)]
struct Told {
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
    programs: Vec<Program>,
    outside: BTreeMap<&'static str, BTreeSet<PathBuf>>,
    unknown: BTreeSet<String>,
}

#[derive(Serialize)]
struct Program {
    program: PathBuf,
    followed: bool,
}

impl Jvm {
    /// Has a process write down which files it uses.
    pub(crate) fn see_files(&self, start: &mut Start, directory: &Path, world: &World) -> Result<(), String> {
        let runtime = Runtime::lay_out(&self.cache).map_err(|error| error.to_string())?;
        let variables = Runtime::tracing(directory, Limits::default(), None).map_err(|error| error.to_string())?;
        for (name, value) in variables {
            start.variables.insert(name.to_owned(), Some(value.to_string_lossy().into_owned()));
        }
        let of_project = start.variables.get(PRELOAD).or_else(|| world.get(PRELOAD)).cloned();
        let there = of_project.unwrap_or_else(|| std::env::var(PRELOAD).ok()).filter(|text| !text.is_empty());
        let ours = runtime.library().to_string_lossy().into_owned();
        start.variables.insert(PRELOAD.to_owned(), Some(there.map_or(ours.clone(), |there| format!("{ours}:{there}"))));
        // One that was started earlier has used files unseen.
        start.early = None;
        Ok(())
    }

    /// Writes down what the tests of such a process depended on, each of them after so many others.
    pub(crate) fn depended(&self, directory: &Path, after: usize) -> Option<String> {
        let used = match Attempt::open(directory) {
            Ok(attempt) => FileAccesses::of(&attempt),
            Err(error) => FileAccesses { gaps: [error.to_string()].into(), ..FileAccesses::default() },
        };
        let mut told = Told { format: 1, root: repository(&self.root), after, ..Told::default() };
        told.unknown.extend(used.gaps.iter().cloned());
        told.programs.extend(used.programs.iter().map(|program| Program { program: program.clone(), followed: true }));
        let outputs = self.outputs();
        let sources = Sources { jvm: self, outputs: &outputs };
        used.read.iter().for_each(|path| sources.read(path, &mut told));
        used.missed.iter().for_each(|path| sources.missed(path, &mut told));
        used.listed.iter().for_each(|path| sources.other(path, "listed", &mut told));
        used.written.iter().for_each(|path| sources.other(path, "written", &mut told));
        outputs.iter().for_each(|output| sources.constants(output, output, &mut told));
        let path = directory.with_extension(format!("depends-{after}"));
        let text = serde_json::to_vec(&told).ok()?;
        fs::write(&path, text).ok()?;
        Some(path.to_string_lossy().into_owned())
    }

    /// Directories of the class path: what was compiled from the project.
    fn outputs(&self) -> Vec<PathBuf> {
        self.class_path.iter().map(PathBuf::from).filter(|path| path.is_dir()).map(|path| plain(&path)).collect()
    }
}

struct Sources<'a> {
    jvm: &'a Jvm,
    outputs: &'a [PathBuf],
}

impl Sources<'_> {
    fn read(&self, path: &Path, told: &mut Told) {
        let path = plain(path);
        match self.in_output(&path) {
            Some((output, name)) if path.is_file() => self.compiled(output, &name, &path, told),
            // The directories themselves are the build's.
            Some(_) => {}
            None => self.other(&path, if path.is_dir() { "looked" } else { "read" }, told),
        }
    }

    /// Places where a new class would be meant instead of one that this class mentions.
    fn shadows(&self, name: &Path, class: &ClassFile, told: &mut Told) {
        let package = name.parent().unwrap_or(Path::new(""));
        for root in &self.jvm.all_roots {
            let directory = suite::relative(&plain(root).join(package), &told.root);
            told.searched.entry(directory).or_default().extend(class.names.iter().cloned());
        }
    }

    /// The file that a compiled one was made from.
    fn compiled(&self, output: &Path, name: &Path, path: &Path, told: &mut Told) {
        let is_class = name.extension().is_some_and(|kind| kind == "class");
        let found = if is_class { self.sources_of(name, path) } else { self.resources(output, name) };
        if let Some(class) = Some(path).filter(|_| is_class).and_then(ClassFile::read) {
            self.shadows(name, &class, told);
        }
        if found.is_empty() {
            let what = name.display();
            told.unknown
                .insert(format!("it uses {what}, and which file of the project that was made from is not known"));
        }
        for source in found {
            let list = if is_class { &mut told.executed } else { &mut told.read };
            list.insert(suite::relative(&source, &told.root));
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

    /// As tools copy them, unless they are told otherwise.
    fn resources(&self, output: &Path, name: &Path) -> Vec<PathBuf> {
        self.resource_roots(output).into_iter().map(|root| root.join(name)).filter(|path| path.is_file()).collect()
    }

    /// Beside the sources.
    fn resource_roots(&self, output: &Path) -> Vec<PathBuf> {
        let roots = self.jvm.all_roots.iter().map(|root| plain(root));
        let beside = roots.clone().filter_map(|root| Some(root.parent()?.join("resources")));
        // Of the module that was compiled there.
        let near = |root: &PathBuf| {
            output.ancestors().take(5).any(|above| above.parent().is_some() && root.starts_with(above))
        };
        beside.chain(roots).filter(near).filter(|root| root.is_dir()).collect()
    }

    /// Something that comes to be there would be found.
    fn missed(&self, path: &Path, told: &mut Told) {
        let path = plain(path);
        let Some((output, name)) = self.in_output(&path) else { return self.other(&path, "missed", told) };
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
        for root in roots {
            // The first thing on the way that is not there.
            let mut way = root;
            for part in name.components() {
                way.push(part);
                if !way.exists() {
                    told.missed.insert(suite::relative(&way, &told.root));
                    break;
                }
            }
        }
    }

    fn other(&self, path: &Path, how: &'static str, told: &mut Told) {
        let path = plain(path);
        if self.is_installed(&path) {
            return;
        }
        // A JVM looks at its working directory whatever it runs.
        if how == "looked" && self.jvm.directory().is_some_and(|directory| directory.starts_with(&path)) {
            return;
        }
        if !path.starts_with(&told.root) {
            told.outside.entry(how).or_default().insert(path);
            return;
        }
        let name = suite::relative(&path, &told.root);
        let list = match how {
            "listed" => &mut told.listed,
            "written" => &mut told.written,
            "missed" => &mut told.missed,
            "looked" => &mut told.looked,
            _ => &mut told.read,
        };
        list.insert(if name.is_empty() { ".".to_owned() } else { name });
        let real = fs::canonicalize(&path).ok().filter(|real| *real != path && real.starts_with(&told.root));
        list.extend(real.map(|real| suite::relative(&real, &told.root)));
    }

    /// Libraries, the JVM, what it keeps for its own, and what is unflake's.
    fn is_installed(&self, path: &Path) -> bool {
        let jvm = self.jvm;
        let ours = [jvm.side.as_path(), jvm.cache.as_path()];
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

    /// What compilers may have copied out of classes that were never loaded.
    fn constants(&self, directory: &Path, output: &Path, told: &mut Told) {
        for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                self.constants(&path, output, told);
            } else if path.extension().is_some_and(|kind| kind == "class")
                && ClassFile::read(&path).is_some_and(|class| class.is_copied())
                && let Ok(name) = path.strip_prefix(output)
            {
                let sources = self.sources_of(name, &path);
                told.read.extend(sources.iter().map(|source| suite::relative(source, &told.root)));
            }
        }
    }

    fn in_output(&self, path: &Path) -> Option<(&Path, PathBuf)> {
        let output = self.outputs.iter().find(|output| path.starts_with(output))?;
        Some((output, path.strip_prefix(output).ok()?.to_owned()))
    }
}

/// Without `.` and `..`.
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

/// The directory of the repository, or of the project where there is none.
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
