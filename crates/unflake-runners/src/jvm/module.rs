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
use crate::driver::program::Program;
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::jvm::agent_build::{AgentBuild, FrameworkSupport};
use crate::jvm::agent_options;
use crate::jvm::assertions::Assertions;
use crate::jvm::cds_archive::{self, CdsArchive};
use crate::jvm::forks::{Forks, JvmProgram};
use crate::jvm::jar_copy;
use crate::jvm::module_options::without_project_modules;
use crate::jvm::protocol::{self, JvmMessage, MessageReader};
use crate::jvm::resource_locks::ClassNeeds;
use crate::process::bounded_text::BoundedText;
use crate::process::files::relative;
use crate::process::prestarted::WaitingProcess;
use crate::process::spec::{EnvChanges, ProcessSpec};

/// For so few tests, a fast start is better than fast code.
const FEW: usize = 8;
/// How much output of a JVM that cannot list its tests is shown.
const PRINTED: usize = 16 << 10;
const QUICK: &str = "-XX:TieredStopAtLevel=1";
/// Stands for the number of a JVM among those that run at the same time.
const FORK: &str = "{unflake.fork}";
/// The end of the name of an order whose tests run as the project configures it.
const AS_CONFIGURED: &str = "-suite";

/// How to start JVMs for a module.
pub(crate) struct Jvm {
    /// With all options of the project, without the tests to run.
    start: ProcessSpec,
    /// Makes the start of a JVM faster.
    archive: Option<CdsArchive>,
    pub(crate) hurried: bool,
    /// Marks the agent's messages in the output.
    pub(crate) mark: String,
    /// Surefire's settings and system properties.
    files: [PathBuf; 2],
    /// Directories of sources.
    pub(crate) roots: Vec<PathBuf>,
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
    pub(crate) prestarted: Arc<Mutex<Option<WaitingProcess>>>,
    /// Whether the project gives each JVM its number.
    pub(crate) is_numbered: bool,
    pub(crate) can_isolate_in_process: bool,
    /// The shared file with the list of tests, for drivers of other worlds.
    listing: Option<PathBuf>,
    /// Whether lines are recorded: the JVM that lists has no trace of its own start.
    traced: bool,
    /// The assertions of the project, where they are observed.
    assertions: Option<Arc<Assertions>>,
    /// What the user should know of the tests that run.
    note: Option<&'static str>,
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

/// What a JVM lists.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct JvmListing {
    pub(crate) tests: Vec<JvmTest>,
    /// Messages for the user.
    pub(crate) notes: Vec<String>,
    /// The framework itself decides in which order, or how many at once, the tests run.
    pub(crate) has_own_order: bool,
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
        let support = FrameworkSupport::of(&provider, &class_path)
            .map_err(|what| ListError::usage(format!("{name}: unflake does not run tests of {what} ({provider})")))?;
        let kit = AgentBuild { cache: context.cache };
        let agent = kit.agent(&java, support, &class_path).map_err(ListError::usage)?;
        let whole = class_path.clone();
        let home = fs::canonicalize(&java).ok().and_then(|java| Some(java.parent()?.parent()?.to_owned()));
        let options = without_project_modules(options, home.as_deref());
        let (front, rest) = cds_archive::split_class_path(class_path);
        let in_front = |path| jar_copy::without_version_directories(path, context.cache);
        let mut front: Vec<String> = front.into_iter().map(in_front).collect();
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
        let has_fork = |text: &String| text.contains(FORK);
        let is_numbered = options.iter().any(has_fork)
            || variables.values().flatten().any(has_fork)
            || fs::read_to_string(&files[1]).is_ok_and(|text| has_fork(&text));
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
            is_numbered,
            can_isolate_in_process: !support.testng,
            listing,
            traced: context.tracing.is_some(),
            assertions: observed.cloned(),
            note: support.note(),
        })
    }

    /// The tests, and messages about them. Drivers of other worlds reuse the list: the JVM that
    /// lists is in none of those worlds.
    pub(crate) fn list(&self, context: &ListContext<'_>) -> Result<JvmListing, ListError> {
        let listing = self.listing.as_deref();
        if let Some(kept) = listing.filter(|_| context.in_other_world).and_then(build_cache::load) {
            return Ok(kept);
        }
        let mut listed = self.list_in_jvm(context)?;
        listed.notes.extend(self.note.map(str::to_owned));
        if let Some(path) = listing {
            build_cache::store(path, &listed);
        }
        Ok(listed)
    }

    /// Starts the JVM that lists the tests. It can go on to run them, once.
    fn list_in_jvm(&self, context: &ListContext<'_>) -> Result<JvmListing, ListError> {
        let start = self.with_order("-", usize::MAX, 1).map_err(ListError::usage)?;
        let mut waiting = WaitingProcess::start(&start, context.env_changes)
            .map_err(|error| ListError::cannot_start(&start.words[0], &error))?;
        let (mut listing, mut used) = (JvmListing::default(), false);
        let (mut problem, mut internal) = (None, None);
        let mut printed = BoundedText::new(PRINTED);
        let mut reader = MessageReader::new(&self.mark);
        let mut take = |message: JvmMessage| {
            if let Some(key) = message.test {
                listing.tests.push(JvmTest { key, class: message.class, method: message.method });
            }
            listing.notes.extend(message.note);
            listing.has_own_order |= message.own_order;
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
            let why = problem.unwrap_or_else(|| format!("the JVM that lists them exited\n{}", words.trim()));
            return Err(ListError::collection(format!("the tests cannot be listed: {why}")));
        }
        // A JVM outside of the world of its tests cannot run them.
        if used || self.traced || context.in_other_world {
            waiting.end();
        } else {
            *self.prestarted.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
        }
        Ok(listing)
    }

    /// Adds these tests to a suite. `command` runs one with the plain runner.
    pub(crate) fn add(
        self: &Arc<Self>,
        listing: &JvmListing,
        forks: Forks,
        suite: &mut ListedSuite,
        command: impl Fn(&JvmTest) -> Vec<String>,
    ) {
        let JvmListing { tests, has_own_order, .. } = listing;
        let classes: BTreeSet<&str> = tests.iter().map(|test| outermost(&test.class)).collect();
        let files: BTreeMap<&str, Option<String>> = classes.iter().map(|class| (*class, self.file_of(class))).collect();
        let divided = forks.divide(tests);
        let jvms: BTreeMap<usize, usize> = divided.iter().copied().collect();
        if jvms.len() > 1 && forks.are_apart() {
            self.end_prestarted();
        }
        let program = |fork: usize, as_configured: bool| JvmProgram { jvm: self.clone(), fork, as_configured };
        let whole = Arc::new(program(1, false));
        let own: BTreeMap<usize, Arc<JvmProgram>> = match forks.are_apart() {
            true => jvms.iter().map(|(jvm, place)| (*jvm, Arc::new(program(place + 1, false)))).collect(),
            false => BTreeMap::new(),
        };
        // How the user's command runs them, where that is not how they run one by one.
        let shared: BTreeMap<usize, Arc<dyn Program>> = match *has_own_order || own.is_empty() && jvms.len() > 1 {
            true => jvms.iter().map(|(jvm, place)| (*jvm, Arc::new(program(place + 1, *has_own_order)) as _)).collect(),
            false => BTreeMap::new(),
        };
        let classes: BTreeSet<&str> = tests.iter().map(|test| test.class.as_str()).collect();
        let needs: BTreeMap<&str, ClassNeeds> =
            classes.into_iter().map(|class| (class, ClassNeeds::of(class, &self.class_path))).collect();
        let stage = suite.stage();
        suite.tests.extend(tests.iter().zip(divided).map(|(test, (jvm, _))| {
            let id = format!("{}#{}", test.class, test.method);
            let program = own.get(&jvm).unwrap_or(&whole).clone();
            let (file, shared) = (files[outermost(&test.class)].clone(), shared.get(&jvm).cloned());
            let needs = needs[test.class.as_str()].of_test(&test.method);
            TestCase { file, shared, stage, needs, ..TestCase::new(id, test.key.clone(), program, command(test)) }
        }));
    }

    /// Ends the JVM that has listed the tests.
    pub(crate) fn end_prestarted(&self) {
        let waiting = self.prestarted.lock().unwrap_or_else(PoisonError::into_inner).take();
        waiting.map(WaitingProcess::end);
    }

    /// The process for an order. `fork`: its number among those that run at the same time.
    pub(crate) fn with_order(&self, order: &str, tests: usize, fork: usize) -> Result<ProcessSpec, String> {
        let mut start = self.start.clone();
        let mut files = self.files.clone();
        if self.is_numbered {
            let numbered = |text: &String| text.replace(FORK, &fork.to_string());
            start.words = start.words.iter().map(numbered).collect();
            start.variables.values_mut().flatten().for_each(|value| *value = numbered(value));
            files[1] = self.run_dir.join(format!("system-{}-{fork}.properties", self.number()));
            let copied = fs::read_to_string(&self.files[1]).and_then(|text| fs::write(&files[1], numbered(&text)));
            copied.map_err(|error| format!("{}: {error}", self.files[1].display()))?;
        }
        let quick = (self.hurried && tests <= FEW).then(|| QUICK.to_owned());
        let archived = self.archive.as_ref().and_then(CdsArchive::option);
        start.words.splice(1..1, quick.into_iter().chain(archived));
        start.words.push(self.mark.clone());
        start.words.extend(files.iter().map(|file| file.to_string_lossy().into_owned()));
        start.words.push(order.to_owned());
        Ok(start)
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
    pub(crate) fn write_order(&self, tests: &[&TestCase], as_configured: bool) -> Result<(PathBuf, String), String> {
        let number = self.orders.fetch_add(1, Ordering::Relaxed);
        let end = if as_configured { AS_CONFIGURED } else { "" };
        let order = self.run_dir.join(format!("jvm-{}-{}-{number}{end}", self.number(), std::process::id()));
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

pub(crate) fn outermost(class: &str) -> &str {
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
