//! The tests of one module of a Java project: a JVM runs them one by one, in any order, with an agent of ours inside.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::driver::build_cache;
use crate::driver::orders::Workshop;
use crate::driver::suite::{self, CannotList, Case, Listener, Probing, Program, Start, Suite, World};
use crate::jvm::agent_build::{Flavour, Kit};
use crate::jvm::agent_options;
use crate::jvm::assertions::Assertions;
use crate::jvm::cds_archive::{self, Archive};
use crate::jvm::protocol::{Ear, Follower, Word};
use crate::process::prestarted::{Early, Waiting};

/// For so few tests, code that is fast soon is better than code that is fast.
const FEW: usize = 8;
const QUICK: &str = "-XX:TieredStopAtLevel=1";

/// What Maven gave a module's JVM, and what became of that.
pub(crate) struct Jvm {
    /// With all options of the project but the tests to be run.
    start: Start,
    /// What goes before these options, in a JVM that is to run little.
    archive: Option<Archive>,
    pub(crate) hurried: bool,
    /// Before what the agent says, and after it.
    mark: String,
    /// Files that tell it what Surefire told its own.
    files: [PathBuf; 2],
    /// Directories of sources.
    roots: Vec<PathBuf>,
    pub(crate) root: PathBuf,
    pub(crate) side: PathBuf,
    pub(crate) agent: PathBuf,
    pub(crate) cache: PathBuf,
    /// Of the JDK.
    pub(crate) home: Option<PathBuf>,
    pub(crate) class_path: Vec<String>,
    /// Directories of sources of all modules.
    pub(crate) all_roots: Vec<PathBuf>,
    orders: AtomicU32,
    early: Arc<Mutex<Option<Waiting>>>,
    /// Where it is kept which tests there are, for drivers of other worlds.
    listing: Option<PathBuf>,
    /// The JVM that lists has no trace of what it does before it is told which test to run.
    traced: bool,
    /// Of the project, where they are told.
    assertions: Option<Arc<Assertions>>,
}

/// How Surefire would start a JVM for the tests of a module.
pub(crate) struct Handed {
    pub(crate) java: PathBuf,
    pub(crate) name: String,
    /// Options of the JVM.
    pub(crate) options: Vec<String>,
    pub(crate) class_path: Vec<String>,
    pub(crate) provider: String,
    pub(crate) assertions: bool,
    pub(crate) directory: PathBuf,
    pub(crate) variables: BTreeMap<String, Option<String>>,
    pub(crate) files: [PathBuf; 2],
    pub(crate) roots: Vec<PathBuf>,
    /// … of all modules.
    pub(crate) all_roots: Vec<PathBuf>,
}

/// A test as its JVM lists it.
#[derive(Deserialize, Serialize)]
pub(crate) struct Listed {
    pub(crate) key: String,
    pub(crate) class: String,
    pub(crate) method: String,
}

impl Jvm {
    pub(crate) fn new(handed: Handed, workshop: &Workshop<'_>) -> Result<Self, CannotList> {
        let Handed {
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
        } = handed;
        let flavour = Flavour::of(&provider, &class_path).ok_or_else(|| {
            CannotList::usage(format!("{name}: unflake does not run tests of {provider}; it runs JUnit 4 and 5"))
        })?;
        let kit = Kit { cache: workshop.cache };
        let agent = kit.agent(&java, flavour, &class_path).map_err(CannotList::usage)?;
        let whole = class_path.clone();
        let home = fs::canonicalize(&java).ok().and_then(|java| Some(java.parent()?.parent()?.to_owned()));
        let (mut front, rest) = cds_archive::parted(class_path);
        front.insert(0, agent.to_string_lossy().into_owned());
        let archive = Archive::new(&java, &front, workshop.cache, &options, flavour.jupiter, flavour.classic);
        if let Some(archive) = archive.as_ref().filter(|_| !workshop.elsewhere) {
            archive.make(&files, workshop.side);
        }
        // A project that chooses its compiler gets it.
        let hurried =
            !options.iter().any(|option| ["-Xint", "-Xcomp", "-XX:"].iter().any(|kind| option.starts_with(kind)));
        let told = files.each_ref().map(|file| fs::read(file).ok());
        let start = (&java, &options, &whole, &directory, &variables, assertions);
        let listing = build_cache::place_for("listed", &(start, told), workshop);
        let mark = mark();
        let mut words = vec![java.to_string_lossy().into_owned()];
        words.extend(options);
        words.extend(assertions.then(|| "-ea".to_owned()));
        words.extend(agent_options::looks(&agent, number(&mark), &all_roots, workshop)?);
        words.push("-cp".to_owned());
        words.push([front, rest].concat().join(":"));
        words.push("unflake.jvm.Main".to_owned());
        Ok(Self {
            start: Start { words, directory: Some(directory), variables, ..Start::default() },
            archive,
            hurried,
            mark,
            files,
            roots,
            root: workshop.here.clone(),
            agent,
            cache: workshop.cache.to_owned(),
            home,
            class_path: whole,
            all_roots,
            side: workshop.side.to_owned(),
            orders: AtomicU32::new(0),
            early: Arc::default(),
            listing,
            traced: workshop.tracing.is_some(),
            assertions: workshop.assertions.clone(),
        })
    }

    /// Which tests there are, and what is to be said of them. Other drivers of the run need not find it out again: what lists them is in none of
    /// the worlds.
    pub(crate) fn list(&self, workshop: &Workshop<'_>) -> Result<(Vec<Listed>, Vec<String>), CannotList> {
        let listing = self.listing.as_deref();
        if let Some(kept) = listing.filter(|_| workshop.elsewhere).and_then(build_cache::kept) {
            return Ok(kept);
        }
        let listed = self.ask(workshop)?;
        if let Some(place) = listing {
            build_cache::keep(place, &listed);
        }
        Ok(listed)
    }

    /// Starts the JVM that tells which tests there are. It can go on to run them, once.
    fn ask(&self, workshop: &Workshop<'_>) -> Result<(Vec<Listed>, Vec<String>), CannotList> {
        let start = self.with_order("-", usize::MAX);
        let cannot =
            |error: std::io::Error| CannotList::usage(format!("`{}` cannot be started: {error}", start.words[0]));
        let mut waiting = Waiting::start(&start, workshop.world).map_err(cannot)?;
        let (mut tests, mut notes, mut problem, mut used) = (Vec::new(), Vec::new(), None, false);
        let mut ear = Ear::new(&self.mark);
        let mut take = |word: Word| {
            if let Some(key) = word.test {
                tests.push(Listed { key, class: word.class, method: word.method });
            }
            notes.extend(word.note);
            problem = word.problem.or(problem.take());
            used |= word.used;
            word.listed || word.over.is_some()
        };
        // Each is to be heard, so none is passed over once one has said that it is the last.
        let heard = waiting.hear(|line| ear.hear(line).into_iter().map(&mut take).filter(|last| *last).count() > 0);
        if heard.is_err() || problem.is_some() {
            let said = waiting.end();
            let why = problem.unwrap_or_else(|| format!("the JVM that was to list them ended\n{}", said.trim()));
            return Err(CannotList::collection(format!("the tests cannot be listed: {why}")));
        }
        // One that is not in the world of its tests cannot run them.
        if used || self.traced || workshop.elsewhere {
            waiting.end();
        } else {
            *self.early.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
        }
        Ok((tests, notes))
    }

    /// Makes these tests part of a suite. `apart`: the project wants a JVM for each class. `command` runs one with the plain runner.
    pub(crate) fn add(
        self: &Arc<Self>,
        tests: &[Listed],
        apart: bool,
        suite: &mut Suite,
        command: impl Fn(&Listed) -> Vec<String>,
    ) {
        let classes: BTreeSet<&str> = tests.iter().map(|test| outermost(&test.class)).collect();
        let files: BTreeMap<&str, Option<String>> = classes.iter().map(|class| (*class, self.file_of(class))).collect();
        let whole = Arc::new(Together(self.clone()));
        let own: BTreeMap<&str, Arc<Together>> =
            classes.iter().filter(|_| apart).map(|class| (*class, Arc::new(Together(self.clone())))).collect();
        if apart {
            self.let_go();
        }
        suite.cases.extend(tests.iter().map(|test| {
            let class = outermost(&test.class);
            Case {
                id: format!("{}#{}", test.class, test.method),
                name: test.key.clone(),
                program: own.get(class).unwrap_or(&whole).clone(),
                crowd: None,
                file: files[class].clone(),
                line: None,
                command: command(test),
                skipped: None,
            }
        }));
    }

    /// Ends the JVM that has listed the tests, where it is not to wait for them.
    pub(crate) fn let_go(&self) {
        let waiting = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
        waiting.map(Waiting::end);
    }

    pub(crate) fn with_order(&self, order: &str, tests: usize) -> Start {
        let mut start = self.start.clone();
        let quick = (self.hurried && tests <= FEW).then(|| QUICK.to_owned());
        let archived = self.archive.as_ref().and_then(Archive::option);
        start.words.splice(1..1, quick.into_iter().chain(archived));
        start.words.push(self.mark.clone());
        start.words.extend(self.files.iter().map(|file| file.to_string_lossy().into_owned()));
        start.words.push(order.to_owned());
        start
    }

    /// Where its tests run.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.start.directory.as_deref()
    }

    /// One that no other module has.
    pub(crate) fn number(&self) -> &str {
        number(&self.mark)
    }

    /// Writes down which tests to run, in which order: the file, and the line that names it.
    pub(crate) fn write_order(&self, cases: &[&Case]) -> Result<(PathBuf, String), String> {
        let number = self.orders.fetch_add(1, Ordering::Relaxed);
        let order = self.side.join(format!("jvm-{}-{}-{number}", self.number(), std::process::id()));
        let keys: String = cases.iter().map(|case| format!("{}\n", case.name)).collect();
        let cannot = |error: std::io::Error| format!("{}: {error}", order.display());
        fs::write(&order, keys).map_err(cannot)?;
        if let Some(lines) = self.assertions.as_ref().and_then(|assertions| assertions.may_fail(cases)) {
            fs::write(order.with_extension("may-fail"), lines).map_err(cannot)?;
        }
        let line = order.to_string_lossy().into_owned();
        Ok((order, line))
    }

    /// Where the source of a class is, as seen from the root.
    pub(crate) fn file_of(&self, class: &str) -> Option<String> {
        let outermost = outermost(class).replace('.', "/");
        let kinds = ["java", "kt", "groovy", "scala"];
        let paths = self.roots.iter().flat_map(|root| kinds.map(|kind| root.join(format!("{outermost}.{kind}"))));
        paths.into_iter().find(|path| path.is_file()).map(|path| suite::relative(&path, &self.root))
    }
}

/// What a build tool and the project's settings have changed in the environment.
pub(crate) fn differing<'a>(
    variables: impl Iterator<Item = &'a str>,
    workshop: &Workshop<'_>,
) -> BTreeMap<String, Option<String>> {
    let pairs = variables.filter_map(|text| text.split_once('='));
    let is_new = |(name, value): &(&str, &str)| {
        !workshop.world.contains_key(*name)
            && env::var_os(name).is_none_or(|there| there.to_string_lossy() != *value)
            && *name != "_"
    };
    pairs.filter(is_new).map(|(name, value)| (name.to_owned(), Some(value.to_owned()))).collect()
}

fn outermost(class: &str) -> &str {
    class.split('$').next().unwrap_or(class)
}

/// One that nobody else prints.
fn mark() -> String {
    use std::hash::{BuildHasher, RandomState};
    format!("<unflake {:016x}>", RandomState::new().hash_one("mark"))
}

/// Of those that nobody else has.
fn number(mark: &str) -> &str {
    &mark[9..25]
}

/// The tests that share a process of a module.
pub(crate) struct Together(pub(crate) Arc<Jvm>);

impl Program for Together {
    fn is_shared(&self) -> bool {
        true
    }

    fn start(&self, cases: &[&Case], _jobs: u32) -> Result<Start, String> {
        let Self(jvm) = self;
        let (_, line) = jvm.write_order(cases)?;
        let early = Some(Early { process: jvm.early.clone(), line: line.clone() });
        Ok(Start { early, ..jvm.with_order(&line, cases.len()) })
    }

    fn start_probing(&self, cases: &[&Case], probing: &Probing<'_>) -> Result<Start, String> {
        self.0.start_probing(cases, probing)
    }

    fn can_isolate_in_process(&self) -> bool {
        true
    }

    fn start_in_process(&self, cases: &[&Case]) -> Result<Start, String> {
        self.0.start_in_process(cases)
    }

    fn knows_files(&self) -> bool {
        true
    }

    fn see_files(&self, start: &mut Start, directory: &Path, world: &World) -> bool {
        // Where there is no such runtime, nothing is known, and tests run all the same.
        self.0.see_files(start, directory, world).is_ok()
    }

    fn depended(&self, directory: &Path, after: usize) -> Option<String> {
        self.0.depended(directory, after)
    }

    fn belong_together(&self, one: &Case, other: &Case) -> bool {
        let class = |case: &Case| case.id.split(['#', '$']).next().map(str::to_owned);
        class(one) == class(other)
    }

    fn listener(&self, cases: &[&Case]) -> Box<dyn Listener> {
        let jvm = self.0.clone();
        let path = move |file: &str| {
            let found = jvm.roots.iter().map(|root| root.join(file)).find(|path| path.is_file());
            found.map_or(file.to_owned(), |path| suite::relative(&path, &jvm.root))
        };
        Box::new(Follower::new(&self.0.mark, cases.len(), path))
    }
}
