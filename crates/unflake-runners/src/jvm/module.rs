//! The tests of one module of a Java project: a JVM with unflake's agent runs them one by one, in
//! any order.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::driver::build_cache;
use crate::driver::list_context::ListContext;
use crate::driver::program::{OutputListener, ProbeContext, Program};
use crate::driver::suite::{ListError, Suite, TestCase};
use crate::jvm::agent_build::{AgentBuild, JunitSupport};
use crate::jvm::agent_options;
use crate::jvm::assertions::Assertions;
use crate::jvm::cds_archive::{self, CdsArchive};
use crate::jvm::protocol::{self, AgentListener, AgentMessage, MessageReader};
use crate::process::bounded_text::BoundedText;
use crate::process::files::relative;
use crate::process::prestarted::{Prestarted, WaitingProcess};
use crate::process::spec::{EnvChanges, ProcessSpec};

/// For so few tests, a fast start is better than fast code.
const FEW: usize = 8;
/// How much output of a JVM that cannot list its tests is shown.
const PRINTED: usize = 16 << 10;
const QUICK: &str = "-XX:TieredStopAtLevel=1";

/// How to start JVMs for a module.
pub(crate) struct Jvm {
    /// With all options of the project, without the tests to run.
    start: ProcessSpec,
    /// Makes the start of a JVM faster.
    archive: Option<CdsArchive>,
    pub(crate) hurried: bool,
    /// Marks the agent's messages in the output.
    mark: String,
    /// Surefire's settings and system properties.
    files: [PathBuf; 2],
    /// Directories of sources.
    roots: Vec<PathBuf>,
    pub(crate) root: PathBuf,
    pub(crate) run_dir: PathBuf,
    pub(crate) agent: PathBuf,
    pub(crate) cache: PathBuf,
    /// The directory of the JDK.
    pub(crate) home: Option<PathBuf>,
    pub(crate) class_path: Vec<String>,
    /// Directories of sources of all modules.
    pub(crate) all_roots: Vec<PathBuf>,
    orders: AtomicU32,
    prestarted: Arc<Mutex<Option<WaitingProcess>>>,
    /// The shared file with the list of tests, for drivers of other worlds.
    listing: Option<PathBuf>,
    /// Whether lines are recorded: the JVM that lists has no trace of its own start.
    traced: bool,
    /// The assertions of the project, where they are observed.
    assertions: Option<Arc<Assertions>>,
}

/// How Surefire would start a JVM for the tests of a module.
pub(crate) struct JvmInvocation {
    pub(crate) java: PathBuf,
    pub(crate) name: String,
    /// Options of the JVM.
    pub(crate) options: Vec<String>,
    pub(crate) class_path: Vec<String>,
    pub(crate) provider: String,
    pub(crate) assertions: bool,
    pub(crate) directory: PathBuf,
    pub(crate) variables: EnvChanges,
    pub(crate) files: [PathBuf; 2],
    pub(crate) roots: Vec<PathBuf>,
    /// … of all modules.
    pub(crate) all_roots: Vec<PathBuf>,
}

/// The JVMs that the project wants for the tests of a module.
#[derive(Clone, Copy)]
pub(crate) struct Forks {
    /// A JVM for each class.
    pub(crate) apart: bool,
    /// How many JVMs run at the same time.
    pub(crate) at_once: u32,
}

/// A test as its JVM lists it.
#[derive(Deserialize, Serialize)]
pub(crate) struct JvmTest {
    pub(crate) key: String,
    pub(crate) class: String,
    pub(crate) method: String,
}

impl Jvm {
    pub(crate) fn new(
        invocation: JvmInvocation,
        context: &ListContext<'_>,
        observed: Option<&Arc<Assertions>>,
    ) -> Result<Self, ListError> {
        let JvmInvocation {
            java,
            name,
            options,
            class_path,
            provider,
            assertions,
            directory,
            variables,
            files,
            roots,
            all_roots,
        } = invocation;
        let support = JunitSupport::of(&provider, &class_path)
            .map_err(|what| ListError::usage(format!("{name}: unflake does not run tests of {what} ({provider})")))?;
        let kit = AgentBuild { cache: context.cache };
        let agent = kit.agent(&java, support, &class_path).map_err(ListError::usage)?;
        let whole = class_path.clone();
        let home = fs::canonicalize(&java).ok().and_then(|java| Some(java.parent()?.parent()?.to_owned()));
        let (mut front, rest) = cds_archive::parted(class_path);
        front.insert(0, agent.to_string_lossy().into_owned());
        let archive = CdsArchive::new(&java, &front, context.cache, &options, support.jupiter, support.classic);
        if let Some(archive) = archive.as_ref().filter(|_| !context.in_other_world) {
            archive.make(&files, context.run_dir);
        }
        // A project that sets compiler options keeps them.
        let hurried =
            !options.iter().any(|option| ["-Xint", "-Xcomp", "-XX:"].iter().any(|kind| option.starts_with(kind)));
        let settings = files.each_ref().map(|file| fs::read(file).ok());
        let start = (&java, &options, &whole, &directory, &variables, assertions);
        let listing = build_cache::path_for("listed", &(start, settings), context);
        let mark = mark();
        let mut words = vec![java.to_string_lossy().into_owned()];
        words.extend(options);
        words.extend(assertions.then(|| "-ea".to_owned()));
        words.extend(agent_options::observing(&agent, number(&mark), &all_roots, context, observed.map(Arc::as_ref))?);
        words.push("-cp".to_owned());
        words.push([front, rest].concat().join(":"));
        words.push("unflake.jvm.Main".to_owned());
        Ok(Self {
            start: ProcessSpec { words, directory: Some(directory), variables, ..ProcessSpec::default() },
            archive,
            hurried,
            mark,
            files,
            roots,
            root: context.here.clone(),
            agent,
            cache: context.cache.to_owned(),
            home,
            class_path: whole,
            all_roots,
            run_dir: context.run_dir.to_owned(),
            orders: AtomicU32::new(0),
            prestarted: Arc::default(),
            listing,
            traced: context.tracing.is_some(),
            assertions: observed.cloned(),
        })
    }

    /// The tests, and messages about them. Drivers of other worlds reuse the list: the JVM that
    /// lists is in none of those worlds.
    pub(crate) fn list(&self, context: &ListContext<'_>) -> Result<(Vec<JvmTest>, Vec<String>), ListError> {
        let listing = self.listing.as_deref();
        if let Some(kept) = listing.filter(|_| context.in_other_world).and_then(build_cache::load) {
            return Ok(kept);
        }
        let listed = self.list_in_jvm(context)?;
        if let Some(path) = listing {
            build_cache::store(path, &listed);
        }
        Ok(listed)
    }

    /// Starts the JVM that lists the tests. It can go on to run them, once.
    fn list_in_jvm(&self, context: &ListContext<'_>) -> Result<(Vec<JvmTest>, Vec<String>), ListError> {
        let start = self.with_order("-", usize::MAX);
        let mut waiting = WaitingProcess::start(&start, context.env_changes)
            .map_err(|error| ListError::cannot_start(&start.words[0], &error))?;
        let (mut tests, mut notes, mut used) = (Vec::new(), Vec::new(), false);
        let (mut problem, mut internal) = (None, None);
        let mut printed = BoundedText::new(PRINTED);
        let mut reader = MessageReader::new(&self.mark);
        let mut take = |message: AgentMessage| {
            if let Some(key) = message.test {
                tests.push(JvmTest { key, class: message.class, method: message.method });
            }
            notes.extend(message.note);
            problem = message.problem.or(problem.take());
            internal = message.internal.or(internal.take());
            used |= message.used;
            message.listed || message.over
        };
        // `count` reads every message, `any` would stop at the last one of the list.
        let read = waiting.read_until(|line| {
            printed.add(line);
            printed.add(b"\n");
            reader.read(line).into_iter().map(&mut take).filter(|last| *last).count() > 0
        });
        if let Some(error) = internal {
            waiting.end();
            return Err(ListError::internal(protocol::agent_failed(&error)));
        }
        if read.is_err() || problem.is_some() {
            let stderr = waiting.end();
            // A JVM prints to standard output that it does not accept its options.
            let words = format!("{}\n{}", reader.other_output(&printed.text()), stderr.trim());
            let why = problem.unwrap_or_else(|| format!("the JVM that was to list them ended\n{}", words.trim()));
            return Err(ListError::collection(format!("the tests cannot be listed: {why}")));
        }
        // A JVM outside of the world of its tests cannot run them.
        if used || self.traced || context.in_other_world {
            waiting.end();
        } else {
            *self.prestarted.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
        }
        Ok((tests, notes))
    }

    /// Adds these tests to a suite. `command` runs one with the plain runner.
    pub(crate) fn add(
        self: &Arc<Self>,
        tests: &[JvmTest],
        forks: Forks,
        suite: &mut Suite,
        command: impl Fn(&JvmTest) -> Vec<String>,
    ) {
        let classes: BTreeSet<&str> = tests.iter().map(|test| outermost(&test.class)).collect();
        let files: BTreeMap<&str, Option<String>> = classes.iter().map(|class| (*class, self.file_of(class))).collect();
        let whole = Arc::new(JvmProgram(self.clone()));
        let own: BTreeMap<&str, Arc<JvmProgram>> =
            classes.iter().filter(|_| forks.apart).map(|class| (*class, Arc::new(JvmProgram(self.clone())))).collect();
        if forks.apart {
            self.end_prestarted();
        }
        let groups = if forks.apart { 1 } else { forks.at_once as usize };
        let group_of = grouped(tests, groups);
        let groups: Vec<Arc<dyn Program>> = match groups {
            1 => Vec::new(),
            _ => (0..groups).map(|_| Arc::new(JvmProgram(self.clone())) as Arc<dyn Program>).collect(),
        };
        suite.tests.extend(tests.iter().zip(group_of).map(|(test, group)| {
            let class = outermost(&test.class);
            let id = format!("{}#{}", test.class, test.method);
            let program = own.get(class).unwrap_or(&whole).clone();
            let (file, shared) = (files[class].clone(), groups.get(group).cloned());
            TestCase { file, shared, ..TestCase::new(id, test.key.clone(), program, command(test)) }
        }));
    }

    /// Ends the JVM that has listed the tests.
    pub(crate) fn end_prestarted(&self) {
        let waiting = self.prestarted.lock().unwrap_or_else(PoisonError::into_inner).take();
        waiting.map(WaitingProcess::end);
    }

    pub(crate) fn with_order(&self, order: &str, tests: usize) -> ProcessSpec {
        let mut start = self.start.clone();
        let quick = (self.hurried && tests <= FEW).then(|| QUICK.to_owned());
        let archived = self.archive.as_ref().and_then(CdsArchive::option);
        start.words.splice(1..1, quick.into_iter().chain(archived));
        start.words.push(self.mark.clone());
        start.words.extend(self.files.iter().map(|file| file.to_string_lossy().into_owned()));
        start.words.push(order.to_owned());
        start
    }

    /// The working directory of the tests.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.start.directory.as_deref()
    }

    /// A number that no other module has.
    pub(crate) fn number(&self) -> &str {
        number(&self.mark)
    }

    /// Writes the tests to run, in order, into a file. Returns the file and the line that names it.
    pub(crate) fn write_order(&self, tests: &[&TestCase]) -> Result<(PathBuf, String), String> {
        let number = self.orders.fetch_add(1, Ordering::Relaxed);
        let order = self.run_dir.join(format!("jvm-{}-{}-{number}", self.number(), std::process::id()));
        let keys: String = tests.iter().map(|test| format!("{}\n", test.name)).collect();
        let cannot = |error: std::io::Error| format!("{}: {error}", order.display());
        fs::write(&order, keys).map_err(cannot)?;
        if let Some(lines) = self.assertions.as_ref().and_then(|assertions| assertions.may_fail(tests)) {
            fs::write(order.with_extension("may-fail"), lines).map_err(cannot)?;
        }
        let line = order.to_string_lossy().into_owned();
        Ok((order, line))
    }

    /// The source of a class, relative to the root.
    pub(crate) fn file_of(&self, class: &str) -> Option<String> {
        let outermost = outermost(class).replace('.', "/");
        let kinds = ["java", "kt", "groovy", "scala"];
        let paths = self.roots.iter().flat_map(|root| kinds.map(|kind| root.join(format!("{outermost}.{kind}"))));
        paths.into_iter().find(|path| path.is_file()).map(|path| relative(&path, &self.root))
    }
}

/// The environment variables that a build tool and the project's settings changed.
pub(crate) fn differing<'a>(variables: impl Iterator<Item = &'a str>, context: &ListContext<'_>) -> EnvChanges {
    let pairs = variables.filter_map(|text| text.split_once('='));
    let is_new = |(name, value): &(&str, &str)| {
        !context.env_changes.contains_key(*name)
            && env::var_os(name).is_none_or(|there| there.to_string_lossy() != *value)
            && *name != "_"
    };
    pairs.filter(is_new).map(|(name, value)| (name.to_owned(), Some(value.to_owned()))).collect()
}

/// The group of each test: as many groups of neighbors, of about the same size, as JVMs share the
/// classes. A class is in one group.
fn grouped(tests: &[JvmTest], groups: usize) -> Vec<usize> {
    let mut of_tests: Vec<usize> = Vec::new();
    for (at, test) in tests.iter().enumerate() {
        let is_next = at > 0 && outermost(&tests[at - 1].class) == outermost(&test.class);
        of_tests.push(if is_next { of_tests[at - 1] } else { at * groups / tests.len() });
    }
    of_tests
}

fn outermost(class: &str) -> &str {
    class.split('$').next().unwrap_or(class)
}

/// A mark that no test prints by accident.
fn mark() -> String {
    use std::hash::{BuildHasher, RandomState};
    format!("<unflake {:016x}>", RandomState::new().hash_one("mark"))
}

/// The number in a mark.
fn number(mark: &str) -> &str {
    &mark[9..25]
}

/// The tests that share JVMs of a module.
pub(crate) struct JvmProgram(pub(crate) Arc<Jvm>);

impl Program for JvmProgram {
    fn is_shared(&self) -> bool {
        true
    }

    fn start(&self, tests: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        let Self(jvm) = self;
        let (_, line) = jvm.write_order(tests)?;
        let prestarted = Some(Prestarted { process: jvm.prestarted.clone(), line: line.clone() });
        Ok(ProcessSpec { prestarted, ..jvm.with_order(&line, tests.len()) })
    }

    fn start_probing(&self, tests: &[&TestCase], probe_context: &ProbeContext<'_>) -> Result<ProcessSpec, String> {
        self.0.start_probing(tests, probe_context)
    }

    fn can_isolate_in_process(&self) -> bool {
        true
    }

    fn start_in_process(&self, tests: &[&TestCase]) -> Result<ProcessSpec, String> {
        self.0.start_in_process(tests)
    }

    fn maps_files(&self) -> bool {
        true
    }

    fn record_files(&self, start: &mut ProcessSpec, directory: &Path, env_changes: &EnvChanges) -> bool {
        // Without the runtime there are no dependencies, and tests run all the same.
        self.0.record_files(start, directory, env_changes).is_ok()
    }

    fn dependency_report(&self, directory: &Path, after: usize) -> Option<String> {
        self.0.dependency_report(directory, after)
    }

    fn may_share_dependencies(&self, one: &TestCase, other: &TestCase) -> bool {
        let class = |test: &TestCase| test.id.split(['#', '$']).next().map(str::to_owned);
        class(one) == class(other)
    }

    fn listener(&self, tests: &[&TestCase]) -> Box<dyn OutputListener> {
        let jvm = self.0.clone();
        let path = move |file: &str| {
            let found = jvm.roots.iter().map(|root| root.join(file)).find(|path| path.is_file());
            found.map_or(file.to_owned(), |path| relative(&path, &jvm.root))
        };
        Box::new(AgentListener::new(&self.0.mark, tests.len(), path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_divided_among_jvms() {
        let test = |class: &str| JvmTest { key: String::new(), class: class.to_owned(), method: "m".to_owned() };
        let groups = |classes: &str, count| grouped(&classes.split(' ').map(test).collect::<Vec<_>>(), count);
        assert_eq!(groups("A A B B", 2), [0, 0, 1, 1]);
        assert_eq!(groups("A A A A$I B C", 2), [0, 0, 0, 0, 1, 1]);
        assert_eq!(groups("A B C", 1), [0, 0, 0]);
        assert_eq!(groups("A B", 4), [0, 2]);
    }
}
