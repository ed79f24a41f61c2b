//! JUnit tests of any build tool: a file has their class path, and no build tool is asked.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use unflake_worlds::RuntimeSupport;

use crate::driver::build_cache;
use crate::driver::list_context::ListContext;
use crate::driver::suite::{ListError, ListedSuite};
use crate::jvm;
use crate::jvm::assertions::Assertions;
use crate::jvm::forks::Forks;
use crate::jvm::module::{Jvm, JvmInvocation, JvmListing};
use crate::jvm::seeds;
use crate::process::bounded_text::BoundedText;
use crate::process::captured_command;
use crate::process::files::{file_contains, find_program, program_name, relative};
use crate::process::spec::{EnvChanges, apply_env};
use crate::runner::{AgentEntry, Driver, Profile, Runner, RunnerOption, Texts};

const WORDS: usize = 64 << 10;
/// Usual directories of sources.
const SOURCES: [&str; 8] =
    ["src/test/java", "src/main/java", "src/test/kotlin", "src/main/kotlin", "test", "tests", "src", "."];

/// Compiled tests, with the two settings that tell where they are. The command compiles them.
pub(crate) struct ClassPath;

static PROFILE: Profile = Profile {
    name: "JUnit",
    options: &[
        RunnerOption {
            name: "classpath-file",
            meaning: "the file with the class path of the tests",
            help: "A file with the class path of your Java tests, one entry a line or joined by colons, for any build \
                   tool: your command compiles, and unflake runs the tests itself. A line that begins with `-` is an \
                   option of the JVM. Goes with --test-classes",
            check: |_| Ok(()),
        },
        RunnerOption {
            name: "test-classes",
            meaning: "the directories of compiled tests",
            help: "A directory of compiled Java tests: all tests in it are run. Can be given several times",
            check: |_| Ok(()),
        },
    ],
    texts: Texts { called: Some("a class path"), ..Texts::NONE },
    ..jvm::PROFILE
};

impl Runner for ClassPath {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    /// Its settings select it, never its command.
    fn recognizes(&self, _command: &[String]) -> bool {
        false
    }

    fn runtime_support(&self, command: &[String], cache: Option<&Path>) -> Vec<RuntimeSupport> {
        let is_java = program_name(command) == Some("java");
        is_java.then(|| seeds::support(cache)).flatten().into_iter().collect()
    }
}

/// A module with everything that a JVM for its tests needs.
pub(crate) struct CompiledModule {
    pub(crate) name: String,
    pub(crate) java: PathBuf,
    pub(crate) options: Vec<String>,
    /// Whether to enable `assert`, beside what the options say.
    pub(crate) assertions: bool,
    pub(crate) class_path: Vec<String>,
    /// Classes that may have tests.
    pub(crate) classes: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) variables: EnvChanges,
    pub(crate) roots: Vec<PathBuf>,
    /// More settings in Surefire's format.
    pub(crate) settings: Vec<(String, String)>,
}

/// The command compiles, and perhaps writes the file.
fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    // The command returns nothing but what it compiles.
    build_cache::built("classes", context, |_| build(context, |_| {}))?;
    let path = context.here.join(context.options.one("classpath-file"));
    let text = fs::read_to_string(&path).map_err(|error| {
        ListError::usage(format!("the class path of the tests cannot be read from {}: {error}", path.display()))
    })?;
    let (options, class_path) = parsed(&text, &context.here);
    let compiled = CompiledModule {
        name: "the tests".to_owned(),
        java: java()?,
        options,
        assertions: true,
        class_path,
        classes: classes_in(context.options.all("test-classes").map(|directory| context.here.join(directory)))?,
        directory: context.here.clone(),
        variables: BTreeMap::new(),
        roots: SOURCES.iter().map(|root| context.here.join(root)).filter(|root| root.is_dir()).collect(),
        settings: Vec::new(),
    };
    let mut suite = ListedSuite { root: context.here.clone(), at_once: Some(1), ..ListedSuite::default() };
    let assertions = Assertions::wanted(context);
    let (jvm, listing) = compiled.listed(context, assertions.as_ref(), &mut suite)?;
    // No program that runs a single test is always there: the user's command only compiles.
    jvm.add(&listing, Forks::ONE, &mut suite, |_| Vec::new());
    suite.assertions = assertions.and_then(Assertions::into_filter);
    Ok(suite)
}

/// Runs the command that compiles.
pub(crate) fn build(context: &ListContext<'_>, add: impl FnOnce(&mut Command)) -> Result<(), ListError> {
    let words = context.command;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    add(&mut command);
    apply_env(&mut command, context.env_changes);
    let output = captured_command::of(&mut command).map_err(|error| ListError::cannot_start(&words[0], &error))?;
    if output.status.success() {
        return Ok(());
    }
    let mut output_text = BoundedText::new(WORDS);
    output_text.add(&output.stdout);
    output_text.add(&output.stderr);
    let text = format!("`{}` failed, so there are no tests to run:\n{}", words.join(" "), output_text.text().trim());
    Err(ListError::collection(text))
}

/// JVM options, which begin with a dash, and class path entries: one a line, or joined by colons.
fn parsed(text: &str, here: &Path) -> (Vec<String>, Vec<String>) {
    let (options, entries): (Vec<&str>, Vec<&str>) =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).partition(|line| line.starts_with('-'));
    let entries = entries.iter().flat_map(|line| line.split(':')).filter(|entry| !entry.is_empty());
    let entries = entries.map(|entry| here.join(entry).to_string_lossy().into_owned()).collect();
    (options.into_iter().map(str::to_owned).collect(), entries)
}

fn java() -> Result<PathBuf, ListError> {
    let home = env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java")).filter(|java| java.is_file());
    let found = home.or_else(|| find_program("java").and_then(|java| fs::canonicalize(java).ok()));
    found.ok_or_else(|| ListError::usage("no java was found, neither in JAVA_HOME nor in PATH"))
}

impl CompiledModule {
    /// The JVM of the module's tests, and the tests.
    pub(crate) fn listed(
        self,
        context: &ListContext<'_>,
        assertions: Option<&Arc<Assertions>>,
        suite: &mut ListedSuite,
    ) -> Result<(Arc<Jvm>, JvmListing), ListError> {
        let wants_testng = self.settings.iter().any(|(name, value)| name == "framework" && value == "testng");
        let provider = provider(&self.class_path, wants_testng)
            .map_err(|why| ListError::usage(format!("{}: {why}", self.name)))?;
        let mut settings = format!("providerConfiguration={provider}\n");
        settings.extend((0..).zip(&self.classes).map(|(at, class)| format!("tc.{at}={class}\n")));
        settings.extend(self.settings.iter().map(|(name, value)| format!("{name}={value}\n")));
        let place = context.run_dir.join(format!("class-path-{}-{}", std::process::id(), suite.tests.len()));
        let files = ["surefire.properties", "system.properties"].map(|name| place.join(name));
        fs::create_dir_all(&place)
            .and_then(|()| fs::write(&files[0], settings))
            .and_then(|()| fs::write(&files[1], ""))
            .map_err(|error| ListError::usage(format!("{}: {error}", place.display())))?;
        let jvm = Arc::new(Jvm::new(
            JvmInvocation {
                java: self.java,
                name: self.name,
                options: self.options,
                class_path: self.class_path,
                provider: provider.to_owned(),
                assertions: self.assertions,
                directory: self.directory,
                variables: self.variables,
                files,
                all_roots: self.roots.clone(),
                roots: self.roots,
            },
            context,
            assertions,
        )?);
        let mut listing = jvm.list(context)?;
        suite.notes.append(&mut listing.notes);
        Ok((jvm, listing))
    }
}

fn classes_in(directories: impl Iterator<Item = PathBuf>) -> Result<Vec<String>, ListError> {
    let mut classes = Vec::new();
    for directory in directories {
        if !directory.is_dir() {
            let text = format!("there is no directory {} with compiled tests", directory.display());
            return Err(ListError::usage(text));
        }
        gather(&directory, &directory, &mut classes);
    }
    classes.sort();
    Ok(classes)
}

/// Whether this is a top-level class.
pub(crate) fn is_outermost(name: &str) -> bool {
    !name.contains('$') && !name.ends_with("-info")
}

fn gather(directory: &Path, root: &Path, classes: &mut Vec<String>) {
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            gather(&path, root, classes);
        } else if path.extension().is_some_and(|kind| kind == "class") {
            let name = relative(&path.with_extension(""), root).replace('/', ".");
            classes.extend(Some(name).filter(|name| is_outermost(name)));
        }
    }
}

/// The provider of Surefire for the test framework in this class path.
fn provider(class_path: &[String], wants_testng: bool) -> Result<&'static str, &'static str> {
    let has = |class: &str| class_path.iter().any(|path| file_contains(Path::new(path), &[class.as_bytes()]));
    let testng = "org.apache.maven.surefire.testng.TestNGProvider";
    if wants_testng {
        return Ok(testng);
    }
    if has("org/junit/platform/engine/TestEngine.class") {
        return match has("org/junit/platform/launcher/Launcher.class") {
            true => Ok("org.apache.maven.surefire.junitplatform.JUnitPlatformProvider"),
            false => {
                Err("JUnit 5 is in the class path, but junit-platform-launcher is not; add the jar of the same version")
            }
        };
    }
    match has("org/junit/runners/ParentRunner.class") {
        true => Ok("org.apache.maven.surefire.junit4.JUnit4Provider"),
        false if has("org/testng/TestNG.class") => Ok(testng),
        false => Err("neither JUnit 4, JUnit 5 nor TestNG is in the class path"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_path_may_stand_in_lines_or_in_one() {
        let read = |text: &str| {
            let (options, entries) = parsed(text, Path::new("/p"));
            (options.join(" "), entries.join(" "))
        };
        let entries = "/r/a.jar /p/out/test".to_owned();
        assert_eq!(read("/r/a.jar:out/test\n"), (String::new(), entries.clone()));
        assert_eq!(read("-Xmx1g\n/r/a.jar\n\n out/test \n-Dx=1 2:3"), ("-Xmx1g -Dx=1 2:3".to_owned(), entries));
    }

    #[test]
    fn classes_inside_others_are_not_asked_for_tests() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("com/acme")).unwrap();
        for name in ["com/acme/ATest.class", "com/acme/ATest$1.class", "module-info.class", "B.class", "b.txt"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        let mut classes = Vec::new();
        gather(place.path(), place.path(), &mut classes);
        classes.sort();
        assert_eq!(classes, ["B", "com.acme.ATest"]);
    }
}
