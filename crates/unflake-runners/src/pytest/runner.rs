//! pytest: the agent is a plugin that `PYTEST_PLUGINS` loads, whatever command starts pytest.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{env, fs};

use unflake_observe::layers::TemporaryName;
use unflake_protocol::{InjectedAgent, MissedAgent, PrependedVariable};
use unflake_worlds::{RuntimeSupport, SupportVariable};

use crate::process::files::find_program;
use crate::pytest::command_line;
use crate::pytest::demo::DEMO;
use crate::pytest::factors::FACTORS;
use crate::pytest::missed_agent;
use crate::pytest::virtual_environment;
use crate::runner::{
    AgentEntry, Capabilities, DefaultCommand, Demo, Profile, ProjectFiles, ReplayedSession, Runner, SettingsTable,
    Texts, TraceSupport, UnsupportedCommand,
};

pub(crate) struct Pytest;

const AGENT: InjectedAgent = InjectedAgent {
    name: "pytest",
    // Below a directory of this name nothing is taken for code of the project: Hypothesis draws
    // constants from that.
    directory: "site-packages",
    files: include!(concat!(env!("OUT_DIR"), "/pytest_agent.rs")),
    compiled: "__pycache__",
    prepend: &[
        PrependedVariable { name: "PYTHONPATH", value: "{agent}", separator: ":" },
        PrependedVariable { name: "PYTEST_PLUGINS", value: "unflake_agent", separator: "," },
    ],
};

/// A module of the agent that works without it.
macro_rules! module {
    ($path:literal) => {
        (
            concat!("unflake_world/", $path),
            include_bytes!(concat!("../../../../agents/pytest/unflake_agent/", $path)).as_slice(),
        )
    };
}

/// Seeds what tests draw, delays their threads and forces a value, as the agent does.
const WORLD: RuntimeSupport = RuntimeSupport {
    files: &[
        ("unflake_world/__init__.py", include_bytes!("../../../../agents/pytest/unflake_world/__init__.py")),
        module!("core/__init__.py"),
        module!("core/forced_value.py"),
        module!("core/forced_wait.py"),
        module!("core/numpy_generators.py"),
        module!("core/random_state.py"),
        module!("common/__init__.py"),
        module!("common/boundary.py"),
        module!("common/paths.py"),
        module!("common/project_code.py"),
        module!("common/qualified_names.py"),
        module!("schedule/__init__.py"),
        module!("schedule/change_points.py"),
        module!("schedule/event_loop.py"),
        module!("schedule/plugin.py"),
        module!("schedule/threads.py"),
    ],
    variables: Cow::Borrowed(&[
        SupportVariable { name: "PYTHONPATH", value: Cow::Borrowed("{files}"), separator: ":" },
        SupportVariable { name: "PYTEST_PLUGINS", value: Cow::Borrowed("unflake_world"), separator: "," },
    ]),
};

/// Files that only a Python project has at its top.
const PROJECT: [&str; 5] = ["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py"];

/// Keys of configuration files that neither pytest nor the installation of a package uses.
const DESCRIPTIONS: [(&str, &[&str]); 2] = [
    (
        "**/pyproject.toml",
        &[
            "dependency-groups.doc",
            "dependency-groups.lint",
            "dependency-groups.pre-commit",
            "dependency-groups.style",
            "dependency-groups.typing",
            "project.authors",
            "project.classifiers",
            "project.description",
            "project.keywords",
            "project.license",
            "project.maintainers",
            "project.optional-dependencies.doc",
            "project.optional-dependencies.lint",
            "project.optional-dependencies.typing",
            "project.readme",
            "project.requires-python",
            "project.urls",
            "project.version",
            "tool.basedpyright",
            "tool.black",
            "tool.bumpver",
            "tool.check-manifest",
            "tool.cibuildwheel",
            "tool.codespell",
            "tool.commitizen",
            "tool.coverage.html",
            "tool.coverage.report",
            "tool.docformatter",
            "tool.flake8",
            "tool.gha-update",
            "tool.interrogate",
            "tool.isort",
            "tool.mypy",
            "tool.pydocstyle",
            "tool.pylint",
            "tool.pyright",
            "tool.ruff",
            "tool.semantic_release",
            "tool.tbump",
            "tool.towncrier",
            "tool.tox.env.docs",
            "tool.tox.env_list",
            "tool.tox.env.style",
            "tool.tox.env.typing",
            "tool.typos",
        ],
    ),
    (
        "**/{setup.cfg,tox.ini}",
        &[
            "bdist_wheel",
            "bumpversion",
            "check-manifest",
            "flake8",
            "isort",
            "metadata",
            "mypy",
            "pycodestyle",
            "pydocstyle",
            "pylint",
            "testenv:docs",
            "tox.env_list",
            "tox.envlist",
            "testenv:lint",
            "testenv:style",
            "testenv:typing",
        ],
    ),
];

/// Files that only installers read, or tools that start pytest. The agent does not say what is
/// installed where such a tool has started it.
const INSTALLATION: [&str; 18] = [
    "**/noxfile.py",
    "**/tox.toml",
    "**/Pipfile",
    "**/Pipfile.lock",
    "**/poetry.lock",
    "**/pdm.lock",
    "**/pylock*.toml",
    "**/uv.lock",
    "**/*{requirements,constraints}*.{txt,in}",
    "**/*requirements/**",
    "**/environment*.{yml,yaml}",
    "**/setup.py",
    "**/MANIFEST.in",
    "**/{doc,docs}/**/*{requirements,constraints}*.{txt,in}",
    "**/requirements/{build,doc,docs,format,lint,release,style,typing}.{txt,in}",
    "**/{requirements,constraints}{-,_}{doc,docs,format,lint,release,style,typing}.{txt,in}",
    "**/meson.build",
    "**/hatch.toml",
];

/// Keys of configuration files that only they use.
const INSTALLATION_KEYS: [(&str, &[&str]); 2] = [
    (
        "**/pyproject.toml",
        &[
            "build-system",
            "dependency-groups",
            "project.",
            "tool.flit",
            "tool.hatch",
            "tool.maturin",
            "tool.nox",
            "tool.pdm",
            "tool.pip-tools",
            "tool.poetry",
            "tool.scikit-build",
            "tool.setuptools",
            "tool.setuptools_scm",
            "tool.tox",
            "tool.uv",
        ],
    ),
    (
        "**/{setup.cfg,tox.ini}",
        &[
            "build_ext",
            "egg_info",
            "entry_points",
            "extras",
            "files",
            "gh",
            "options",
            "pbr",
            "sdist",
            "testenv",
            "tox",
            "wheel",
        ],
    ),
];

static PROFILE: Profile = Profile {
    name: "pytest",
    language: "Python",
    capabilities: Capabilities {
        fork: true,
        any_order: true,
        own_order: false,
        side_by_side: false,
        repeat_in_process: true,
        trace: true,
        values: true,
        state: true,
        assertions: true,
        dependencies: true,
        layers: true,
        slow_starts: false,
        lists_by_running: false,
        in_process_isolation: None,
    },
    files: ProjectFiles {
        root_markers: &PROJECT,
        settings: Some(SettingsTable { file: "pyproject.toml", table: &["tool", "unflake"] }),
        global_inputs: &[
            "**/conftest.py",
            "**/sitecustomize.py",
            "**/usercustomize.py",
            "**/pyproject.toml",
            "**/pytest.ini",
            "**/.pytest.ini",
            "**/pytest.toml",
            "**/.pytest.toml",
            "**/tox.ini",
            "**/tox.toml",
            "**/noxfile.py",
            "**/Pipfile",
            "**/Pipfile.lock",
            "**/poetry.lock",
            "**/pdm.lock",
            "**/uv.lock",
            "**/.python-version",
            "**/*.pth",
            "**/*{requirements,constraints}*.{txt,in}",
            "**/*requirements/**",
            "**/environment*.{yml,yaml}",
        ],
        directory_inputs: &[
            "**/setup.py",
            "**/setup.cfg",
            "**/MANIFEST.in",
            "**/{doc,docs}/**/*{requirements,constraints}*.{txt,in}",
            "**/requirements/{build,doc,docs,format,lint,release,style,typing}.{txt,in}",
            "**/{requirements,constraints}{-,_}{doc,docs,format,lint,release,style,typing}.{txt,in}",
        ],
        code_inputs: (&["**/conftest.py"], &["pytest_"]),
        descriptions: &DESCRIPTIONS,
        installation: &INSTALLATION,
        installation_keys: &INSTALLATION_KEYS,
        caches: &[
            "__pycache__",
            ".pytest_cache",
            ".hypothesis",
            ".venv",
            "venv",
            ".tox",
            ".nox",
            ".mypy_cache",
            ".ruff_cache",
            ".coverage",
        ],
        derived: &["__pycache__"],
        restored_builds: &[],
    },
    texts: Texts {
        example: Some("pytest tests/"),
        starts_by: Some("pytest, 6 or later"),
        base_worktree: Some("is the project installed in editable mode, or on PYTHONPATH?"),
        ..Texts::NONE
    },
    never_excuse: &[r"Fatal Python error: ", r"(UnraisableException|UnhandledThreadException)Warning: "],
    temporary_names: &[TemporaryName {
        marker: "/pytest-of-",
        pattern: r#"pytest-of-[^/\s'"]+/pytest-(?:\d+|current)"#,
    }],
    factors: &FACTORS,
    other_runtimes: crate::pytest::factors::others,
    runtime_support: &[WORLD],
    variables: &["PYTHON", "PYTEST", "VIRTUAL_ENV", "CONDA"],
    ..Profile::EMPTY
};

impl Runner for Pytest {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Injected(AGENT)
    }

    fn recognizes(&self, command: &[String]) -> bool {
        command.iter().any(|word| command_line::is_pytest(word))
    }

    fn default_command(&self, project: &Path) -> Option<DefaultCommand> {
        let has = |name: &&str| project.join(name).is_file();
        let tests = ["", "tests", "test"].map(|name| project.join(name));
        let is_ours = PROJECT.iter().chain(&["conftest.py"]).any(has) || tests.iter().any(|one| has_test_files(one));
        if !is_ours {
            return None;
        }
        for name in [".venv", "venv"] {
            let python = project.join(name).join("bin/python");
            if python.is_file() && env::var_os("VIRTUAL_ENV").is_none() {
                let words = [&python.to_string_lossy(), "-m", "pytest"];
                return DefaultCommand::new(&words, format!("there is a {name} in the project"));
            }
        }
        let words: &[&str] = if find_program("pytest").is_some() { &["pytest"] } else { &["python3", "-m", "pytest"] };
        DefaultCommand::new(words, "this looks like a pytest project")
    }

    fn explain_missed_agent(&self, command: &[String], output: &str) -> Option<MissedAgent> {
        missed_agent::explain(command, output, &env::current_dir().unwrap_or_default())
    }

    fn explain_unsupported(
        &self,
        command: &[String],
        _is_supported: &dyn Fn(&[String]) -> bool,
    ) -> Option<UnsupportedCommand> {
        command_line::starts_unittest(command).then(|| UnsupportedCommand {
            why: "unflake cannot run unittest".to_owned(),
            hint: "pytest runs tests of unittest, too: `unflake run -- pytest`".to_owned(),
        })
    }

    fn reproduce(&self, session: &ReplayedSession<'_>) -> Option<Vec<String>> {
        command_line::reproduce(session)
    }

    fn id_seen_from(&self, test: &str, root: Option<&Path>, here: &Path) -> String {
        command_line::seen_from(test, root, here)
    }

    fn trace_support(&self, language: &str) -> Option<TraceSupport> {
        let native = cfg!(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"));
        trace_support(language, native)
    }

    fn inputs(&self, command: &[String]) -> Vec<PathBuf> {
        virtual_environment::directories(command)
    }

    fn demo(&self) -> Option<&'static Demo> {
        Some(&DEMO)
    }
}

fn has_test_files(directory: &Path) -> bool {
    let is_test = |name: &str| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    fs::read_dir(directory).into_iter().flatten().flatten().any(|entry| entry.file_name().to_str().is_some_and(is_test))
}

/// What the agent uses to see lines. `native`: its library is there.
fn trace_support(interpreter: &str, native: bool) -> Option<TraceSupport> {
    let (name, version) = interpreter.split_once(' ')?;
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next()?);
    let (good, description) = match name {
        "CPython" if native && version >= (3, 12) => {
            (true, "lines by sys.monitoring and native code, together with any other tool; values in Python")
        }
        "CPython" if native && version >= (3, 9) => (
            true,
            "lines by PyEval_SetTrace and native code, not together with coverage or a debugger; values in Python",
        ),
        "CPython" if version >= (3, 12) => (false, "by sys.monitoring in Python: slow"),
        "CPython" | "PyPy" => (false, "by sys.settrace in Python: slow, and not together with coverage or a debugger"),
        _ => return None,
    };
    Some(TraceSupport { good, description })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_agent_is_packed() {
        let has = |name: &str| AGENT.files.iter().any(|(path, content)| *path == name && !content.is_empty());
        assert!(has("unflake_agent/__init__.py"));
        assert!(AGENT.files.iter().any(|(path, _)| *path == "unflake_agent/tracer.so"));
    }

    #[test]
    fn the_version_of_the_interpreter_decides_how_lines_are_seen() {
        let good = |interpreter: &str, native| trace_support(interpreter, native).map(|support| support.good);
        assert_eq!(good("CPython 3.12.1", true), Some(true));
        assert_eq!(good("CPython 3.8.20", true), Some(false));
        assert_eq!(good("CPython 3.12.1", false), Some(false));
        assert_eq!(good("PyPy 3.10.14", true), Some(false));
        assert_eq!(good("Ruby 3.4", true), None);
    }

    #[test]
    fn a_project_is_known_by_its_files_and_its_tests() {
        let project = tempfile::tempdir().unwrap();
        assert_eq!(Pytest.default_command(project.path()), None);
        fs::create_dir(project.path().join("tests")).unwrap();
        fs::write(project.path().join("tests/test_a.py"), "").unwrap();
        let command = Pytest.default_command(project.path()).unwrap();
        assert_eq!(
            (command.words.last().unwrap().as_str(), &*command.reason),
            ("pytest", "this looks like a pytest project")
        );
    }
}
