//! Repeats a CMake build of the user with tracing, in a directory of its own.
//!
//! Guarantees that nothing of the user's build is changed: a build that writes outside of its build
//! directory is refused before anything is compiled.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::fcntl::{Flock, FlockArg};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tracing::debug;
use unflake_observe::trace::TraceRuntime;

use crate::cpp::traced_build::{self, Flags};
use crate::process::spec::{EnvChanges, apply_env};

/// The directory of the traced build, in the user's build directory, so that it goes with it.
const TRACED: &str = "unflake-traced";
const CACHE: &str = "CMakeCache.txt";
/// The settings of the user's build, for CMake to begin with.
const SETTINGS: &str = "unflake-settings.cmake";
const QUERY: &str = ".cmake/api/v1/query/codemodel-v2";
const REPLIES: &str = ".cmake/api/v1/reply";
/// How much of a failed command's output is shown.
const LAST_LINES: usize = 12;

/// A build directory that the user has configured with CMake.
#[derive(Debug)]
pub(super) struct CmakeBuild {
    directory: PathBuf,
    source: PathBuf,
    cache: Vec<CacheEntry>,
}

/// `NAME:TYPE=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CacheEntry {
    name: String,
    kind: String,
    value: String,
}

impl CmakeBuild {
    /// The build that this program or directory belongs to. None of one that was copied or moved: it
    /// names the sources of another place.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        let directory = path.ancestors().find(|directory| directory.join(CACHE).is_file())?.to_owned();
        let cache = entries(&fs::read_to_string(directory.join(CACHE)).ok()?);
        let value = |name: &str| cache.iter().find(|entry| entry.name == name).map(|entry| PathBuf::from(&entry.value));
        let configured = fs::canonicalize(value("CMAKE_CACHEFILE_DIR")?).ok()?;
        let source = value("CMAKE_HOME_DIRECTORY")?;
        (configured == directory).then_some(Self { directory, source, cache })
    }

    /// Builds this program with tracing and returns the traced one. Why not, otherwise.
    pub(super) fn traced_program(
        &self,
        program: &Path,
        runtime: &TraceRuntime,
        env: &EnvChanges,
    ) -> Result<PathBuf, String> {
        let program = fs::canonicalize(program).map_err(|error| error.to_string())?;
        let relative = program.strip_prefix(&self.directory).map_err(|error| error.to_string())?;
        let traced = self.directory.join(TRACED);
        fs::create_dir_all(&traced).map_err(|error| format!("{}: {error}", traced.display()))?;
        // The drivers of several worlds build at the same time.
        let lock = File::create(traced.join("lock")).map_err(|error| error.to_string())?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error.to_string())?;
        self.configure(&traced, runtime, env)?;
        let target = target_of(relative, &traced)?;
        let mut build = self.cmake(env);
        build.arg("--build").arg(&traced).args(["--target", &target.name, "--parallel", &cores().to_string()]);
        if !target.configuration.is_empty() {
            build.args(["--config", &target.configuration]);
        }
        run(&mut build, "the traced build failed")?;
        Ok(traced.join(relative))
    }

    /// Configures with the settings of the user's build and those for tracing.
    fn configure(&self, traced: &Path, runtime: &TraceRuntime, env: &EnvChanges) -> Result<(), String> {
        let settings = self.settings(runtime)?;
        let kept = traced.join(SETTINGS);
        let is_equal = fs::read_to_string(&kept).is_ok_and(|before| before == settings);
        if is_equal && traced.join(CACHE).is_file() {
            return Ok(());
        }
        // CMake takes settings into an empty cache only.
        let _ = fs::remove_file(traced.join(CACHE));
        let _ = fs::remove_dir_all(traced.join("CMakeFiles"));
        let query = traced.join(QUERY);
        let write = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap_or(path))
                .and_then(|()| fs::write(path, text))
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        write(&query, "")?;
        write(&kept, &settings)?;
        let mut configure = self.cmake(env);
        configure.arg("-S").arg(&self.source).arg("-B").arg(traced).arg("-C").arg(&kept);
        for (option, name) in
            [("-G", "CMAKE_GENERATOR"), ("-A", "CMAKE_GENERATOR_PLATFORM"), ("-T", "CMAKE_GENERATOR_TOOLSET")]
        {
            if let Some(value) = self.value(name).filter(|value| !value.is_empty()) {
                configure.arg(option).arg(value);
            }
        }
        let configured = run(&mut configure, "the project could not be configured for tracing");
        if configured.is_err() {
            let _ = fs::remove_file(traced.join(CACHE));
        }
        configured
    }

    /// A script that sets what the user's build has set, and the flags for tracing.
    fn settings(&self, runtime: &TraceRuntime) -> Result<String, String> {
        let mut flags: BTreeMap<&str, String> = BTreeMap::new();
        let mut link = Vec::new();
        for (language, name) in [("C", "CMAKE_C_FLAGS"), ("CXX", "CMAKE_CXX_FLAGS")] {
            let Some(compiler) = self.compiler_id(language) else { continue };
            let Flags { compile, link: needed } = match &*compiler {
                "GNU" => traced_build::gcc(runtime),
                "Clang" | "AppleClang" => traced_build::clang(runtime),
                other => return Err(format!("the compiler is {other}, and only GCC and Clang can trace")),
            };
            flags.insert(name, compile.join(" "));
            // One that clang needs is unknown to gcc, so that of the program's language counts.
            link = needed;
        }
        if flags.is_empty() {
            return Err("the build has no C or C++ compiler".to_owned());
        }
        for name in ["CMAKE_EXE_LINKER_FLAGS", "CMAKE_SHARED_LINKER_FLAGS", "CMAKE_MODULE_LINKER_FLAGS"] {
            flags.insert(name, link.join(" "));
        }
        Ok(settings_script(&self.cache, &flags, &self.downloaded()))
    }

    /// Projects that FetchContent has downloaded, by name: they are not downloaded again.
    fn downloaded(&self) -> Vec<(String, PathBuf)> {
        let base = self.value("FETCHCONTENT_BASE_DIR").map_or_else(|| self.directory.join("_deps"), PathBuf::from);
        let names = fs::read_dir(base).into_iter().flatten().filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix("-src")?.to_uppercase();
            Some((name, path))
        });
        let mut all: Vec<_> = names.collect();
        all.sort();
        all
    }

    /// `GNU`, `Clang` …, as CMake identified it. None: the build does not use the language.
    fn compiler_id(&self, language: &str) -> Option<String> {
        let versions = fs::read_dir(self.directory.join("CMakeFiles")).ok()?;
        let file = format!("CMake{language}Compiler.cmake");
        let texts = versions.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join(&file)).ok());
        texts.filter_map(|text| set_value(&text, &format!("CMAKE_{language}_COMPILER_ID"))).next()
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.cache.iter().find(|entry| entry.name == name).map(|entry| entry.value.as_str())
    }

    /// The CMake that configured the build.
    fn cmake(&self, env: &EnvChanges) -> Command {
        let mut cmake = Command::new(self.value("CMAKE_COMMAND").unwrap_or("cmake"));
        apply_env(&mut cmake, env);
        cmake.stdin(Stdio::null());
        cmake
    }
}

/// The entries of a CMake cache.
fn entries(cache: &str) -> Vec<CacheEntry> {
    let is_comment = |line: &&str| line.starts_with(['#', '/']);
    let entry = |line: &str| {
        let (head, value) = line.split_once('=')?;
        let (name, kind) = head.rsplit_once(':')?;
        let name = name.trim_matches('"');
        Some(CacheEntry { name: name.to_owned(), kind: kind.to_owned(), value: value.to_owned() })
    };
    cache.lines().filter(|line| !is_comment(line)).filter_map(entry).collect()
}

/// The value of `set(NAME "VALUE")`.
fn set_value(script: &str, name: &str) -> Option<String> {
    let start = format!("set({name} \"");
    let value = script.lines().find_map(|line| line.trim().strip_prefix(&start))?.split('"').next()?;
    (!value.is_empty()).then(|| value.to_owned())
}

/// `added`: flags that are appended to those of the cache. `downloaded`: sources by name.
fn settings_script(cache: &[CacheEntry], added: &BTreeMap<&str, String>, downloaded: &[(String, PathBuf)]) -> String {
    let mut all: BTreeMap<String, (String, String)> = BTreeMap::new();
    for CacheEntry { name, kind, value } in cache {
        // The others say what CMake found, or where the user's build is.
        let is_setting = !["INTERNAL", "STATIC"].contains(&kind.as_str()) && name != "FETCHCONTENT_BASE_DIR";
        if is_setting {
            let kind = if kind == "UNINITIALIZED" { "STRING" } else { kind };
            all.insert(name.clone(), (kind.to_owned(), value.clone()));
        }
    }
    for (name, flags) in added {
        let (_, value) = all.entry((*name).to_owned()).or_insert_with(|| ("STRING".to_owned(), String::new()));
        *value = format!("{value} {flags}").trim().to_owned();
    }
    // Checks of the compiler by old projects link without the project's flags, unless they are asked to.
    all.insert("CMAKE_POLICY_DEFAULT_CMP0056".to_owned(), ("STRING".to_owned(), "NEW".to_owned()));
    for (name, source) in downloaded {
        let value = source.to_string_lossy().into_owned();
        all.insert(format!("FETCHCONTENT_SOURCE_DIR_{name}"), ("PATH".to_owned(), value));
    }
    let line = |(name, (kind, value)): (String, (String, String))| {
        format!("set(\"{name}\" [==[{value}]==] CACHE {kind} \"\")\n")
    };
    all.into_iter().map(line).collect()
}

#[derive(Deserialize)]
struct Index {
    objects: Vec<IndexedReply>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexedReply {
    kind: String,
    json_file: String,
}

#[derive(Deserialize)]
struct CodeModel {
    configurations: Vec<CMakeConfiguration>,
}

#[derive(Deserialize)]
struct CMakeConfiguration {
    #[serde(default)]
    name: String,
    targets: Vec<ListedTarget>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedTarget {
    name: String,
    json_file: String,
}

#[derive(Deserialize)]
struct TargetReply {
    #[serde(default)]
    artifacts: Vec<BuiltFile>,
}

#[derive(Deserialize)]
struct BuiltFile {
    path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    name: String,
    /// The configuration of a generator that has several. Empty: there is one.
    configuration: String,
    artifacts: Vec<PathBuf>,
}

/// The target that makes this program. Refuses a project in which some target writes elsewhere.
fn target_of(program: &Path, traced: &Path) -> Result<Target, String> {
    let replies = traced.join(REPLIES);
    let targets = targets(&replies).ok_or("CMake does not list its targets; unflake needs CMake 3.14 or later")?;
    chosen_target(program, traced, targets)
}

fn chosen_target(program: &Path, traced: &Path, targets: Vec<Target>) -> Result<Target, String> {
    let is_outside = |path: &&PathBuf| path.is_absolute() && !path.starts_with(traced);
    if let Some(outside) = targets.iter().flat_map(|target| &target.artifacts).find(is_outside) {
        return Err(format!("the build writes {}, which is not in its build directory", outside.display()));
    }
    let makes =
        |target: &Target| target.artifacts.iter().any(|path| path.strip_prefix(traced).unwrap_or(path) == program);
    let found = targets.into_iter().find(makes);
    found.ok_or_else(|| format!("no target of the project makes {}", program.display()))
}

fn targets(replies: &Path) -> Option<Vec<Target>> {
    let is_index =
        |name: &&PathBuf| name.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("index-"));
    let files: Vec<PathBuf> = fs::read_dir(replies).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let index: Index = json(files.iter().filter(is_index).max()?)?;
    let model = index.objects.iter().find(|reply| reply.kind == "codemodel")?;
    let model: CodeModel = json(&replies.join(&model.json_file))?;
    let has_several = model.configurations.len() > 1;
    let mut all = Vec::new();
    for CMakeConfiguration { name: configuration, targets } in model.configurations {
        for ListedTarget { name, json_file } in targets {
            let reply: TargetReply = json(&replies.join(json_file))?;
            let artifacts = reply.artifacts.into_iter().map(|artifact| artifact.path).collect();
            let configuration = if has_several { configuration.clone() } else { String::new() };
            all.push(Target { name, configuration, artifacts });
        }
    }
    Some(all)
}

fn json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// Runs a command; on failure the end of its output.
fn run(command: &mut Command, what: &str) -> Result<(), String> {
    debug!(?command, "for a traced build");
    let output = command.output().map_err(|error| format!("{what}: cmake cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let names = |what: &'static str| lines.iter().find(move |line| line.contains(what));
    let first = ["undefined reference", "rror: ", "Error at", "rror"].into_iter().find_map(names);
    let first = first.unwrap_or(&"no error is named").trim();
    Err(format!("{what}: {first}\n{}", last.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE_TEXT: &str = "# a comment\n//Build type\nCMAKE_BUILD_TYPE:STRING=Debug\nCMAKE_CXX_FLAGS:STRING=-O1 \
                              -DNAME=\"x=y\"\nshop_BINARY_DIR:STATIC=/p/build\nCMAKE_HOME_DIRECTORY:INTERNAL=/p\nMINE:\
                              UNINITIALIZED=a;b\nFETCHCONTENT_BASE_DIR:PATH=/p/build/_deps\n";

    #[test]
    fn settings_of_the_user_are_kept_and_flags_appended() {
        let added = [("CMAKE_CXX_FLAGS", "-g".to_owned()), ("CMAKE_EXE_LINKER_FLAGS", "-la".to_owned())].into();
        let downloaded = [("GOOGLETEST".to_owned(), PathBuf::from("/p/build/_deps/googletest-src"))];
        assert_eq!(
            settings_script(&entries(CACHE_TEXT), &added, &downloaded),
            "set(\"CMAKE_BUILD_TYPE\" [==[Debug]==] CACHE STRING \"\")\n\
             set(\"CMAKE_CXX_FLAGS\" [==[-O1 -DNAME=\"x=y\" -g]==] CACHE STRING \"\")\n\
             set(\"CMAKE_EXE_LINKER_FLAGS\" [==[-la]==] CACHE STRING \"\")\n\
             set(\"CMAKE_POLICY_DEFAULT_CMP0056\" [==[NEW]==] CACHE STRING \"\")\n\
             set(\"FETCHCONTENT_SOURCE_DIR_GOOGLETEST\" [==[/p/build/_deps/googletest-src]==] CACHE PATH \"\")\n\
             set(\"MINE\" [==[a;b]==] CACHE STRING \"\")\n"
        );
    }

    #[test]
    fn a_build_that_was_copied_is_not_repeated() {
        let place = tempfile::tempdir().expect("it can be made");
        let place = fs::canonicalize(place.path()).expect("it exists");
        for name in ["build", "copy"] {
            fs::create_dir(place.join(name)).expect("it can be made");
            let built = place.join("build");
            let text = format!("{CACHE_TEXT}CMAKE_CACHEFILE_DIR:INTERNAL={}\n", built.display());
            fs::write(place.join(name).join(CACHE), text).expect("it can be written");
        }
        let build = CmakeBuild::of(&place.join("build")).expect("it is where it was configured");
        assert_eq!(build.source, Path::new("/p"));
        assert!(CmakeBuild::of(&place.join("copy")).is_none());
        fs::remove_dir_all(place.join("build")).expect("it can be removed");
        assert!(CmakeBuild::of(&place.join("copy")).is_none());
    }

    #[test]
    fn the_compiler_is_read_from_what_cmake_wrote() {
        let text = "set(CMAKE_CXX_COMPILER \"/usr/bin/c++\")\nset(CMAKE_CXX_COMPILER_ID \"GNU\")\n";
        assert_eq!(set_value(text, "CMAKE_CXX_COMPILER_ID").as_deref(), Some("GNU"));
        assert_eq!(set_value("set(CMAKE_C_COMPILER_ID \"\")", "CMAKE_C_COMPILER_ID"), None);
    }

    #[test]
    fn a_build_that_writes_outside_of_its_directory_is_refused() {
        let target = |name: &str, path: &str| Target {
            name: name.to_owned(),
            configuration: String::new(),
            artifacts: vec![path.into()],
        };
        let chosen = |program: &str, targets| chosen_target(Path::new(program), Path::new("/p/b/t"), targets);
        let inside = || vec![target("shop", "libshop.a"), target("shop_test", "tests/shop_test")];
        assert_eq!(chosen("tests/shop_test", inside()).unwrap().name, "shop_test");
        assert!(chosen("other", inside()).unwrap_err().contains("no target"));
        let outside = [inside(), vec![target("tool", "/p/bin/tool")]].concat();
        let why = chosen("tests/shop_test", outside).unwrap_err();
        assert_eq!(why, "the build writes /p/bin/tool, which is not in its build directory");
    }
}
