//! `mvn test`: Maven builds, and Surefire hands over to us the tests of each module with everything it would start a JVM with.
//!
//! So plugins, profiles, properties and every option of Surefire mean what they always mean, and no pom is read here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::driver::build_cache;
use crate::driver::orders::Workshop;
use crate::driver::suite::{self, CannotList, Suite};
use crate::jvm::agent_build::{JAVA, Kit};
use crate::jvm::module::{Handed, Jvm, Listed, differing};
use crate::process::bounded_text::Capture;
use crate::process::captured_command;

const MAVEN_WORDS: usize = 64 << 10;
/// So many JVMs that have listed their tests are kept to run them.
const KEPT: usize = 4;
/// Where Maven finds classes that are to be loaded with its own.
const EXTENSIONS: &str = "-Dmaven.ext.class.path=";
/// What goes further than tests, and would do so before they have run.
const TOO_FAR: [&str; 4] = ["install", "deploy", "site-deploy", "release:perform"];

pub(crate) fn list(command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
    if let Some(phase) = command[1..].iter().find(|word| TOO_FAR.contains(&word.as_str())) {
        let what = format!(
            "`{phase}` of Maven would be done before the tests have run; `mvn test` or `mvn verify` goes as far as tests"
        );
        return Err(CannotList::usage(what));
    }
    let desk = build_cache::handed_over("maven", command, workshop, |desk| build(command, desk, workshop))?;
    let cannot = |error: std::io::Error| CannotList::usage(format!("{}: {error}", desk.display()));
    let mut suite = Suite { root: workshop.here.clone(), at_once: Some(1), ..Suite::default() };
    let mut places: Vec<PathBuf> = fs::read_dir(&desk).map_err(cannot)?.flatten().map(|entry| entry.path()).collect();
    places.sort();
    for place in &places {
        suite.notes.extend(fs::read_to_string(place.join("note")).ok().map(|note| note.trim().to_owned()));
    }
    let all_roots: Vec<PathBuf> = places.iter().flat_map(|place| roots(&facts(place))).collect();
    // Where Surefire found nothing to run, it started nothing.
    places.retain(|place| place.join("surefire.properties").is_file());
    for (at, place) in places.iter().enumerate() {
        let module = Module::read(place, &all_roots, workshop)?;
        let jvm = add(module, places.len() > 1, command, workshop, &mut suite)?;
        if at >= KEPT {
            jvm.let_go();
        }
    }
    Ok(suite)
}

/// Has Maven do what it was told to, up to the moment where Surefire would start a JVM.
fn build(words: &[String], desk: &Path, workshop: &Workshop<'_>) -> Result<(), CannotList> {
    let cannot = |error: std::io::Error| CannotList::usage(format!("{}: {error}", desk.display()));
    fs::write(desk.join("java.sh"), JAVA).map_err(cannot)?;
    let extension = Kit { cache: workshop.cache }.extension().map_err(CannotList::usage)?;
    let mut command = Command::new(&words[0]);
    let extension = extension.display();
    let of_user = words.iter().rev().find_map(|word| word.strip_prefix(EXTENSIONS));
    let extensions = of_user.map_or(format!("{extension}"), |theirs| format!("{theirs}:{extension}"));
    command.args(words[1..].iter().filter(|word| !word.starts_with(EXTENSIONS)));
    command.arg(format!("{EXTENSIONS}{extensions}")).arg(format!("-Dunflake.handoff={}", desk.display()));
    suite::set(&mut command, workshop.world);
    let cannot = |error: std::io::Error| CannotList::usage(format!("`{}` cannot be started: {error}", words[0]));
    let output = captured_command::of(&mut command).map_err(cannot)?;
    if output.status.success() {
        return Ok(());
    }
    let mut said = Capture::new(MAVEN_WORDS);
    said.add(&output.stdout);
    said.add(&output.stderr);
    let text = said.text();
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).collect();
    let shown = if errors.is_empty() { text.trim().to_owned() } else { errors.join("\n") };
    Err(CannotList::collection(format!("Maven's build failed, so there are no tests to run:\n{shown}")))
}

/// A module as it was handed over.
struct Module {
    facts: Vec<(String, String)>,
    /// What Surefire told its own process.
    told: BTreeMap<String, String>,
    handed: Handed,
}

impl Module {
    fn read(place: &Path, all_roots: &[PathBuf], workshop: &Workshop<'_>) -> Result<Self, CannotList> {
        let read = |name: &str| {
            let path = place.join(name);
            let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            text.map_err(|error| CannotList::usage(format!("{}: {error}", path.display())))
        };
        let facts = facts(place);
        let told = properties(&read("surefire.properties")?);
        let words = read("words")?;
        let options = words.split('\0').take_while(|word| *word != "-jar").map(str::to_owned).collect();
        let numbered = |prefix: &str| {
            let one = |at: usize| told.get(&format!("{prefix}.{at}")).cloned();
            (0..).map_while(one).collect::<Vec<_>>()
        };
        let fact = |wanted: &str| facts.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        let fact = |name: &str| fact(name).unwrap_or_default();
        let handed = Handed {
            java: fact("java").into(),
            name: fact("module"),
            options,
            class_path: [numbered("classPathUrl"), numbered("surefireClassPathUrl")].concat(),
            provider: told.get("providerConfiguration").cloned().unwrap_or_default(),
            assertions: told.get("enableAssertions").is_some_and(|value| value == "true"),
            directory: read("directory")?.trim_end_matches('\n').into(),
            variables: differing(read("variables")?.split('\0'), workshop),
            files: ["surefire.properties", "system.properties"].map(|name| place.join(name)),
            roots: roots(&facts),
            all_roots: all_roots.to_vec(),
        };
        Ok(Self { facts, told, handed })
    }
}

/// What is known of a module: names and values.
fn facts(place: &Path) -> Vec<(String, String)> {
    let text = fs::read(place.join("module")).unwrap_or_default();
    let lines = String::from_utf8_lossy(&text).into_owned();
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The directories of its sources.
fn roots(facts: &[(String, String)]) -> Vec<PathBuf> {
    let of_sources = facts.iter().filter(|(name, _)| name == "tests" || name == "sources");
    of_sources.map(|(_, root)| root.into()).collect()
}

/// Adds the tests of one module.
fn add(
    module: Module,
    several: bool,
    command: &[String],
    workshop: &Workshop<'_>,
    suite: &mut Suite,
) -> Result<Arc<Jvm>, CannotList> {
    let Module { facts, told, handed } = module;
    let name = handed.name.clone();
    let is_apart = facts.iter().any(|(name, value)| name == "apart" && value == "true");
    suite.notes.extend(facts.iter().filter(|(name, _)| name == "note").map(|(_, note)| format!("{name}: {note}")));
    let jvm = Arc::new(Jvm::new(handed, workshop)?);
    let (tests, notes) = jvm.list(workshop)?;
    suite.notes.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
    let is_new = told.contains_key("forkNodeConnectionString");
    jvm.add(&tests, is_apart, suite, |test| alone(command, test, several, is_new));
    Ok(jvm)
}

/// The user's command for one test. Surefire chooses by the names of methods; arguments are left to it.
fn alone(command: &[String], test: &Listed, several: bool, is_new: bool) -> Vec<String> {
    let mut words: Vec<String> = command.iter().filter(|word| !word.starts_with("-Dtest=")).cloned().collect();
    let method = test.method.split(['(', '[']).next().unwrap_or(&test.method);
    let any = if method.len() < test.method.len() && test.method[method.len()..].starts_with('[') { "*" } else { "" };
    words.push(format!("-Dtest={}#{method}{any}", test.class));
    if several {
        // Other modules do not have it.
        words.push(format!("-D{}=false", if is_new { "surefire.failIfNoSpecifiedTests" } else { "failIfNoTests" }));
    }
    words
}

/// A file as Java's `Properties` writes it: one setting a line, escaped.
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
    fn a_test_is_run_alone_with_the_users_words() {
        let command = ["mvn", "-q", "-Dtest=Old", "test"].map(str::to_owned);
        let words = |method: &str, several| {
            let test = Listed { key: String::new(), class: "a.B$C".to_owned(), method: method.to_owned() };
            alone(&command, &test, several, true).join(" ")
        };
        assert_eq!(words("total(int)[1]", false), "mvn -q test -Dtest=a.B$C#total");
        assert_eq!(words("one[0: 1]", false), "mvn -q test -Dtest=a.B$C#one*");
        assert_eq!(words("plain", true), "mvn -q test -Dtest=a.B$C#plain -Dsurefire.failIfNoSpecifiedTests=false");
    }
}
