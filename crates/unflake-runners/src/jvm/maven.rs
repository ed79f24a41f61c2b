//! `mvn test`, `mvn verify`: Maven builds, and Surefire and Failsafe write down the tests of each
//! module with what they would start a JVM with.
//!
//! So plugins, profiles, properties and every option of theirs keep their meaning, and no pom is
//! read here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use unflake_worlds::RuntimeSupport;

use crate::driver::build_cache;
use crate::driver::list_context::ListContext;
use crate::driver::suite::{ListError, ListedSuite};
use crate::jvm;
use crate::jvm::agent_build::{AgentBuild, JAVA};
use crate::jvm::assertions::Assertions;
use crate::jvm::forks::Forks;
use crate::jvm::module::{Jvm, JvmInvocation, JvmTest, differing};
use crate::jvm::seeds;
use crate::process::bounded_text::BoundedText;
use crate::process::captured_command;
use crate::process::files::program_name;
use crate::process::spec::apply_env;
use crate::runner::{AgentEntry, DefaultCommand, Driver, Profile, ProjectFiles, Runner};

const MAVEN_WORDS: usize = 64 << 10;
/// How many JVMs that have listed their tests are kept to run them.
const KEPT: usize = 4;
/// The property with classes that Maven loads beside its own.
const EXTENSIONS: &str = "-Dmaven.ext.class.path=";
/// Phases that go further than tests and would run before them.
const TOO_FAR: [&str; 4] = ["install", "deploy", "site-deploy", "release:perform"];

pub(crate) struct Maven;

static PROFILE: Profile = Profile {
    name: "Maven",
    files: ProjectFiles { root_markers: &["pom.xml"], global_inputs: &["**/pom.xml"], ..jvm::FILES },
    ..jvm::PROFILE
};

impl Runner for Maven {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    fn recognizes(&self, command: &[String]) -> bool {
        matches!(program_name(command), Some("mvn" | "mvnw"))
    }

    fn runtime_support(&self, command: &[String], cache: Option<&Path>) -> Vec<RuntimeSupport> {
        self.recognizes(command).then(|| seeds::support(cache)).flatten().into_iter().collect()
    }

    fn default_command(&self, project: &Path) -> Option<DefaultCommand> {
        let has = |name: &str| project.join(name).is_file();
        if !has("pom.xml") {
            return None;
        }
        let reason = "there is a pom.xml";
        if jvm::is_here(project) {
            return DefaultCommand::new(&[if has("mvnw") { "./mvnw" } else { "mvn" }, "test"], reason);
        }
        let path = |name: &str| project.join(name).to_string_lossy().into_owned();
        let program = if has("mvnw") { path("mvnw") } else { "mvn".to_owned() };
        DefaultCommand::new(&[&program, "-f", &path("pom.xml"), "test"], reason)
    }
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let command = context.command;
    if let Some(phase) = command[1..].iter().find(|word| TOO_FAR.contains(&word.as_str())) {
        let why = format!("`{phase}` of Maven would be done before the tests have run");
        return Err(ListError::refused(why, "use `mvn test` or `mvn verify`, which go as far as tests"));
    }
    let handoff = build_cache::built("maven", context, |handoff| build(command, handoff, context))?;
    let cannot = |error: std::io::Error| ListError::usage(format!("{}: {error}", handoff.display()));
    let mut modules: Vec<PathBuf> =
        fs::read_dir(&handoff).map_err(cannot)?.flatten().map(|entry| entry.path()).collect();
    modules.sort();
    let root = jvm::common_root(&context.here, modules.iter().flat_map(|directory| basedir(&facts(directory))));
    let mut suite = ListedSuite { root, at_once: Some(1), ..ListedSuite::default() };
    for directory in &modules {
        suite.notes.extend(fs::read_to_string(directory.join("note")).ok().map(|note| note.trim().to_owned()));
    }
    let all_roots: Vec<PathBuf> = modules.iter().flat_map(|directory| roots(&facts(directory))).collect();
    // Surefire starts no JVM for a module without tests.
    modules.retain(|directory| directory.join("surefire.properties").is_file());
    let assertions = Assertions::wanted(context);
    let is_integration = |directory: &PathBuf| has_fact(&facts(directory), "integration", "true");
    let other_tests = match modules.iter().any(is_integration) {
        true => OtherTests::WithIntegration,
        false if modules.len() > 1 => OtherTests::InModules,
        false => OtherTests::None,
    };
    for (at, directory) in modules.iter().enumerate() {
        let module = MavenModule::read(directory, &all_roots, context)?;
        let jvm = add(module, other_tests, context, assertions.as_ref(), &mut suite)?;
        if at >= KEPT {
            jvm.end_prestarted();
        }
    }
    suite.assertions = assertions.and_then(Assertions::into_filter);
    Ok(suite)
}

/// Runs Maven up to the point where Surefire would start a JVM.
fn build(words: &[String], handoff: &Path, context: &ListContext<'_>) -> Result<(), ListError> {
    let cannot = |error: std::io::Error| ListError::usage(format!("{}: {error}", handoff.display()));
    fs::write(handoff.join("java.sh"), JAVA).map_err(cannot)?;
    let extension = AgentBuild { cache: context.cache }.extension().map_err(ListError::usage)?;
    let mut command = Command::new(&words[0]);
    let extension = extension.display();
    let of_user = words.iter().rev().find_map(|word| word.strip_prefix(EXTENSIONS));
    let extensions = of_user.map_or(format!("{extension}"), |theirs| format!("{theirs}:{extension}"));
    command.args(words[1..].iter().filter(|word| !word.starts_with(EXTENSIONS)));
    command.arg(format!("{EXTENSIONS}{extensions}")).arg(format!("-Dunflake.handoff={}", handoff.display()));
    apply_env(&mut command, context.env_changes);
    let output = captured_command::of(&mut command).map_err(|error| ListError::cannot_start(&words[0], &error))?;
    if output.status.success() {
        return Ok(());
    }
    let mut output_text = BoundedText::new(MAVEN_WORDS);
    output_text.add(&output.stdout);
    output_text.add(&output.stderr);
    let text = output_text.text();
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).collect();
    let shown = if errors.is_empty() { text.trim().to_owned() } else { errors.join("\n") };
    Err(ListError::collection(format!("Maven's build failed, so there are no tests to run:\n{shown}")))
}

/// What a command for one test meets beside the tests of its own module.
#[derive(Clone, Copy, PartialEq)]
enum OtherTests {
    None,
    InModules,
    /// Tests of Failsafe, in this or another module.
    WithIntegration,
}

/// What Surefire or Failsafe has written down for a module.
struct MavenModule {
    facts: Vec<(String, String)>,
    /// The settings that Surefire passes to its own process.
    settings: BTreeMap<String, String>,
    invocation: JvmInvocation,
}

impl MavenModule {
    fn read(directory: &Path, all_roots: &[PathBuf], context: &ListContext<'_>) -> Result<Self, ListError> {
        let read = |name: &str| {
            let path = directory.join(name);
            let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            text.map_err(|error| ListError::usage(format!("{}: {error}", path.display())))
        };
        let facts = facts(directory);
        let settings = properties(&read("surefire.properties")?);
        let words = read("words")?;
        let options = words.split('\0').take_while(|word| *word != "-jar").map(str::to_owned).collect();
        let numbered = |prefix: &str| {
            let one = |at: usize| settings.get(&format!("{prefix}.{at}")).cloned();
            (0..).map_while(one).collect::<Vec<_>>()
        };
        let fact = |wanted: &str| facts.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        let fact = |name: &str| fact(name).unwrap_or_default();
        let provider = settings.get("providerConfiguration").cloned().or_else(|| provider_of_suites(&settings));
        let provider = provider.ok_or_else(|| {
            ListError::usage(format!(
                "{}: unflake cannot read the tests of Surefire {}; set the version of maven-surefire-plugin in the pom to 2.7 or later",
                fact("module"),
                fact("surefire")
            ))
        })?;
        let invocation = JvmInvocation {
            java: fact("java").into(),
            name: fact("module"),
            options,
            class_path: [numbered("classPathUrl"), numbered("surefireClassPathUrl")].concat(),
            provider,
            assertions: settings.get("enableAssertions").is_some_and(|value| value == "true"),
            directory: read("directory")?.trim_end_matches('\n').into(),
            variables: differing(read("variables")?.split('\0'), context),
            files: ["surefire.properties", "system.properties"].map(|name| directory.join(name)),
            roots: roots(&facts),
            all_roots: all_roots.to_vec(),
        };
        Ok(Self { facts, settings, invocation })
    }
}

/// Before version 2.7 Surefire names suites instead of a provider: this one runs the same tests.
fn provider_of_suites(settings: &BTreeMap<String, String>) -> Option<String> {
    let suites: Vec<&str> =
        (0..).map_while(|at| settings.get(&format!("testSuite.{at}"))).map(String::as_str).collect();
    let provider = |suite: &str| match suite.strip_prefix("org.apache.maven.surefire.")? {
        "junit.JUnitDirectoryTestSuite" => Some("org.apache.maven.surefire.junit.JUnit3Provider"),
        "junit4.JUnit4DirectoryTestSuite" => Some("org.apache.maven.surefire.junit4.JUnit4Provider"),
        _ => None,
    };
    let (first, rest) = suites.split_first()?;
    rest.iter().all(|suite| suite == first).then(|| provider(first)).flatten().map(str::to_owned)
}

/// Whether Surefire can select single methods of such a test.
fn selects_methods(surefire: &str, key: &str) -> bool {
    let mut numbers = surefire.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let is_old = key.starts_with("junit3:") || key.starts_with("plain:");
    version >= if is_old { (2, 19) } else { (2, 8) }
}

/// The facts of a module: names and values.
fn facts(directory: &Path) -> Vec<(String, String)> {
    let text = fs::read(directory.join("module")).unwrap_or_default();
    let lines = String::from_utf8_lossy(&text).into_owned();
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn has_fact(facts: &[(String, String)], wanted: &str, value: &str) -> bool {
    facts.iter().any(|(name, its)| name == wanted && its == value)
}

/// The directory of its pom.
fn basedir(facts: &[(String, String)]) -> Option<PathBuf> {
    facts.iter().find(|(name, _)| name == "basedir").map(|(_, path)| path.into())
}

/// The directories of its sources.
fn roots(facts: &[(String, String)]) -> Vec<PathBuf> {
    let of_sources = facts.iter().filter(|(name, _)| name == "tests" || name == "sources");
    of_sources.map(|(_, root)| root.into()).collect()
}

/// Adds the tests of one module.
fn add(
    module: MavenModule,
    others: OtherTests,
    context: &ListContext<'_>,
    assertions: Option<&Arc<Assertions>>,
    suite: &mut ListedSuite,
) -> Result<Arc<Jvm>, ListError> {
    let MavenModule { facts, settings, invocation } = module;
    let name = invocation.name.clone();
    let fact = |wanted: &str| facts.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let number = |name: &str| fact(name).and_then(|number| number.parse::<usize>().ok()).unwrap_or(1);
    let classes = (fact("apart") == Some("true")).then_some(1);
    let forks = Forks { at_once: number("forks"), classes, dealt: false };
    match number("threads") {
        1 => suite.start_stage(forks.at_once as u32),
        // Maven builds modules side by side, and so runs their tests (-T).
        threads => suite.at_once = suite.at_once.max(Some((threads * forks.at_once) as u32)),
    }
    suite.notes.extend(facts.iter().filter(|(name, _)| name == "note").map(|(_, note)| format!("{name}: {note}")));
    let jvm = Arc::new(Jvm::new(invocation, context, assertions)?);
    let mut listing = jvm.list(context)?;
    suite.notes.extend(std::mem::take(&mut listing.notes).into_iter().map(|note| format!("{name}: {note}")));
    let is_new = settings.contains_key("forkNodeConnectionString");
    let surefire = fact("surefire").unwrap_or_default();
    let is_integration = has_fact(&facts, "integration", "true");
    jvm.add(&listing, forks, suite, |test| match selects_methods(surefire, &test.key) {
        true if is_integration => alone_in_failsafe(context.command, test),
        true => alone(context.command, test, others, is_new),
        false => Vec::new(),
    });
    Ok(jvm)
}

/// The user's command for one test.
fn alone(command: &[String], test: &JvmTest, others: OtherTests, is_new: bool) -> Vec<String> {
    let mut words: Vec<String> = command.iter().filter(|word| !word.starts_with("-Dtest=")).cloned().collect();
    words.push(format!("-Dtest={}", selection(test)));
    if others != OtherTests::None {
        // Other modules do not have the test.
        words.push(format!("-D{}=false", if is_new { "surefire.failIfNoSpecifiedTests" } else { "failIfNoTests" }));
    }
    if others == OtherTests::WithIntegration {
        words.push("-DskipITs".to_owned());
    }
    words
}

/// The user's command for one integration test; tests of Surefire run before it.
fn alone_in_failsafe(command: &[String], test: &JvmTest) -> Vec<String> {
    let mut words: Vec<String> = command.iter().filter(|word| !word.starts_with("-Dit.test=")).cloned().collect();
    words.push(format!("-Dit.test={}", selection(test)));
    words.push("-Dit.failIfNoSpecifiedTests=false".to_owned()); // Other modules do not have it.
    words
}

/// A test as Surefire and Failsafe select it: by method name, with all parameters.
fn selection(test: &JvmTest) -> String {
    let method = test.method.split(['(', '[']).next().unwrap_or(&test.method);
    let any = if method.len() < test.method.len() && test.method[method.len()..].starts_with('[') { "*" } else { "" };
    let before = prerequisites(&test.key).iter().map(|before| format!("{before},")).collect::<String>();
    format!("{before}{}#{method}{any}", test.class)
}

/// What has to run before a test, as Surefire selects it; the key of a test of TestNG ends in it.
fn prerequisites(key: &str) -> Vec<String> {
    let Some((_, names)) = key.strip_prefix("testng:").and_then(|key| key.rsplit_once('|')) else { return Vec::new() };
    names.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('/', "#")).collect()
}

/// Reads a file in the format of Java's `Properties`: one escaped setting a line.
fn properties(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let setting = |line: &str| {
        let mut escaped = false;
        let end = line.find(|one: char| {
            let ends = one == '=' && !escaped;
            escaped = one == '\\' && !escaped;
            ends
        })?;
        Some((unescaped(&line[..end]), unescaped(&line[end + 1..])))
    };
    lines.filter_map(setting).collect()
}

fn unescaped(text: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut rest = text.chars();
    while let Some(one) = rest.next() {
        let one = match (one, rest.as_str().chars().next()) {
            ('\\', Some('u')) => {
                let digits: String = rest.by_ref().skip(1).take(4).collect();
                units.extend(u16::from_str_radix(&digits, 16));
                continue;
            }
            ('\\', Some(next)) => {
                rest.next();
                match next {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    'f' => '\x0c',
                    other => other,
                }
            }
            _ => one,
        };
        units.extend_from_slice(one.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_java_writes_them() {
        let text = "#surefire\n#Sun Nov 15 2026\ntc.0=a.B\nurl=pipe\\://1\nk\\=ey=va\\\\l\\tue=\\u00e4\\ud83d\\ude00\nempty=\n";
        let read = properties(text);
        let expected = [("tc.0", "a.B"), ("url", "pipe://1"), ("k=ey", "va\\l\tue=ä😀"), ("empty", "")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn old_suites_have_the_provider_of_later_versions() {
        let of = |suites: &str| {
            let suites = suites
                .split(' ')
                .enumerate()
                .map(|(at, suite)| (format!("testSuite.{at}"), format!("org.apache.maven.surefire.{suite}")));
            provider_of_suites(&suites.collect())
        };
        let junit4 = "org.apache.maven.surefire.junit4.JUnit4Provider";
        assert_eq!(of("junit4.JUnit4DirectoryTestSuite").as_deref(), Some(junit4));
        assert_eq!(of("testng.TestNGXmlTestSuite"), None);
        assert_eq!(of("junit.JUnitDirectoryTestSuite testng.TestNGDirectoryTestSuite"), None);
    }

    #[test]
    fn old_versions_of_surefire_select_whole_classes() {
        let junit4 = |version| selects_methods(version, "junit4:a.B/c");
        assert_eq!(["2.4.2", "2.7.2", "2.8", "2.12.4", "3.0.0-M7"].map(junit4), [false, false, true, true, true]);
        let junit3 = |version| selects_methods(version, "junit3:a.B/c");
        assert_eq!(["2.12.4", "2.18.1", "2.19.1", "3.5.2"].map(junit3), [false, false, true, true]);
    }

    #[test]
    fn a_test_is_run_alone_with_the_users_words() {
        let command = ["mvn", "-q", "-Dtest=Old", "test"].map(str::to_owned);
        let test = |method: &str| JvmTest { key: String::new(), class: "a.B$C".to_owned(), method: method.to_owned() };
        let words = |method: &str, others| alone(&command, &test(method), others, true).join(" ");
        assert_eq!(words("total(int)[1]", OtherTests::None), "mvn -q test -Dtest=a.B$C#total");
        let key = "testng:0|SINGLE|a.B/c|a.B/one,a.D/two".to_owned();
        let needy = JvmTest { key, class: "a.B".to_owned(), method: "c".to_owned() };
        assert_eq!(
            alone(&command, &needy, OtherTests::None, true).join(" "),
            "mvn -q test -Dtest=a.B#one,a.D#two,a.B#c"
        );
        assert_eq!(words("one[0: 1]", OtherTests::None), "mvn -q test -Dtest=a.B$C#one*");
        let of_modules = "mvn -q test -Dtest=a.B$C#plain -Dsurefire.failIfNoSpecifiedTests=false";
        assert_eq!(words("plain", OtherTests::InModules), of_modules);
        assert_eq!(words("plain", OtherTests::WithIntegration), format!("{of_modules} -DskipITs"));
        let integration = alone_in_failsafe(&["mvn", "verify", "-Dit.test=Old"].map(str::to_owned), &test("one[1]"));
        assert_eq!(integration.join(" "), "mvn verify -Dit.test=a.B$C#one* -Dit.failIfNoSpecifiedTests=false");
    }
}
