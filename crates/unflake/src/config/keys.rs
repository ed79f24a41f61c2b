//! The settings by name: what each means, its placeholder and its default. Options, the settings
//! file and its template are made from this table.

use unflake_techniques::NeverExcuse;

/// One setting. It has the same name in the settings file and as an option; as an environment
/// variable it has the name in capitals after `UNFLAKE_`.
pub(crate) struct SettingKey {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    /// The placeholder of its value.
    pub(crate) value: &'static str,
    /// One line of at most 70 characters; empty where a runner has the text.
    help: &'static str,
    /// What `--help` adds.
    details: &'static str,
    /// The default as people read it; empty where there is none.
    pub(crate) default: &'static str,
    /// The default as the settings file has it, or else an example.
    file: &'static str,
    /// The heading of its option; empty: none.
    heading: &'static str,
    /// Whether `-h` shows it.
    pub(crate) usual: bool,
    /// Whether it can be given several times.
    pub(crate) list: bool,
    /// What the option means without a value.
    pub(crate) bare: Option<&'static str>,
}

/// A setting with one value that `--help` shows and `-h` does not.
const OTHER: SettingKey = SettingKey {
    name: "",
    short: None,
    value: "",
    help: "",
    details: "",
    default: "",
    file: "",
    heading: "",
    usual: false,
    list: false,
    bare: None,
};

const RERUNS: &str = "Reruns";
const CHANGE: &str = "Your change";
const LIMITS: &str = "Limits";
const PRIVATE: &str = "Private runs";
const RUNNERS: &str = "Other runners";
const MACHINES: &str = "Other machines";

pub(crate) static KEYS: [SettingKey; 30] = [
    SettingKey {
        name: "command",
        help: "The test command, as a list of words",
        default: "guessed from the files of the project",
        list: true,
        ..OTHER
    },
    SettingKey {
        name: "immediate",
        value: "N",
        help: "Reruns right after a failure, in the same process",
        default: "1",
        file: "1",
        heading: RERUNS,
        ..OTHER
    },
    SettingKey {
        name: "at-end",
        value: "N",
        help: "Reruns at the end of the suite, in the same process",
        default: "1",
        file: "1",
        heading: RERUNS,
        ..OTHER
    },
    SettingKey {
        name: "fresh",
        value: "N",
        help: "Reruns in a fresh environment each",
        default: "1",
        file: "1",
        heading: RERUNS,
        usual: true,
        ..OTHER
    },
    SettingKey {
        name: "fresh-by",
        value: "HOW",
        help: "What a fresh environment is: fork or process",
        details: "`fork`: a fork of a process that has collected the tests and run none. `process`: a new process, \
                  which takes longer and shares nothing with others.",
        default: "fork",
        file: "\"fork\"",
        heading: RERUNS,
        ..OTHER
    },
    SettingKey {
        name: "new-processes",
        value: "N",
        help: "New processes in which a failure must repeat to be real",
        details: "Each has other seeds. A failure that each process draws with one chance in two repeats in 8 of \
                  them once in 256 times; fewer take less time and prove less.",
        default: "8",
        file: "8",
        heading: RERUNS,
        ..OTHER
    },
    SettingKey {
        name: "too-many",
        value: "PERCENT",
        help: "Percentage of failing tests that stops all but immediate reruns",
        details: "When that many tests fail at once, the change is broken. Never with fewer than ten failing tests.",
        default: "1",
        file: "1",
        heading: RERUNS,
        ..OTHER
    },
    SettingKey {
        name: "flaky-result",
        value: "RESULT",
        help: "Flaky tests pass or fail the run",
        default: "pass",
        file: "\"pass\"",
        heading: RERUNS,
        usual: true,
        ..OTHER
    },
    SettingKey {
        name: "never-excuse",
        value: "REGEX",
        help: "Failures that match are never excused by a later pass",
        details: "Matches the message and the output. Can be given several times; replaces the default patterns. \
                  Crashes are never excused.",
        default: "sanitizers and race detectors",
        heading: RERUNS,
        list: true,
        ..OTHER
    },
    SettingKey {
        name: "base",
        value: "REV",
        help: "Revision to compare with",
        details: "The merge base is that with the default branch. Where the failing tests are known to pass at a later \
                  commit, that commit is the default.",
        default: "merge base",
        file: "\"origin/main\"",
        heading: CHANGE,
        usual: true,
        ..OTHER
    },
    SettingKey {
        name: "granularity",
        value: "HOW",
        help: "Compare your change with tests by file, by function, or off",
        details: "`function` excludes more tests. `off` does not look at your change.",
        default: "file",
        file: "\"file\"",
        heading: CHANGE,
        ..OTHER
    },
    SettingKey {
        name: "verify-base",
        value: "WHEN",
        help: "Run unaffected failing tests at the base too: yes, no or needed",
        details: "They run in a temporary working tree. `needed`: only where a pass there is known. `no` excuses nothing.",
        default: "needed",
        file: "\"needed\"",
        heading: CHANGE,
        bare: Some("yes"),
        ..OTHER
    },
    SettingKey {
        name: "jobs",
        short: Some('j'),
        value: "N",
        help: "Environments at a time",
        details: "`stress` starts four for each core by default, `filter learn` one. Where it is set, `run` also spreads the first pass over processes.",
        default: "number of cores",
        file: "2",
        heading: LIMITS,
        usual: true,
        ..OTHER
    },
    SettingKey {
        name: "timeout",
        value: "TIME",
        help: "Time limit of one attempt: 90, 2m, 1h",
        details: "A number alone is in seconds; 0: no limit.",
        default: "15m",
        file: "\"15m\"",
        heading: LIMITS,
        usual: true,
        ..OTHER
    },
    SettingKey {
        name: "output-limit",
        value: "N",
        help: "Characters to keep of each text that a test writes",
        default: "65536",
        file: "65536",
        heading: LIMITS,
        ..OTHER
    },
    SettingKey {
        name: "private",
        value: "PARTS",
        help: "What runs side by side have of their own: all, none, or a list",
        details: "A list of project, home, temp, network, ipc and host-name, separated by commas. What a run writes to \
                  the project, the home or the temporary directories is its own and gone afterwards. With network it \
                  has a loopback interface only; without, it reaches services and shares ports. Only `stress` makes \
                  the network private.",
        default: "all",
        file: "\"all\"",
        heading: PRIVATE,
        ..OTHER
    },
    SettingKey {
        name: "private-keep",
        value: "PATH",
        help: "Existing file or directory that private runs share and keep",
        details: "For what tests write on purpose, such as snapshots and reports. Relative paths start at the top of \
                  the project. Can be given several times.",
        file: "[\"tests/snapshots\"]",
        heading: PRIVATE,
        list: true,
        ..OTHER
    },
    SettingKey {
        name: "engine",
        value: "WHERE",
        help: "Where sessions run: local, slurm or reapi://host:port",
        details: "`slurm`: as jobs of a Slurm cluster, started by its own commands. `reapi://host:port`: as actions of a \
                  server of the Remote Execution API; `reapis://` with TLS. `unflake doctor --engine` tries it.",
        default: "local",
        file: "\"slurm\"",
        heading: MACHINES,
        ..OTHER
    },
    SettingKey {
        name: "engine-directory",
        value: "DIR",
        help: "Directory that all machines see, for inputs and results",
        default: "below the cache directory",
        file: "\"/home/ann/unflake\"",
        heading: MACHINES,
        ..OTHER
    },
    SettingKey {
        name: "engine-options",
        value: "OPTION",
        help: "Options of sbatch, or of Bazel for a server: --remote_header=…",
        file: "[\"--partition=short\", \"--time=30\"]",
        heading: MACHINES,
        list: true,
        ..OTHER
    },
    SettingKey {
        name: "engine-inputs",
        value: "PATH",
        help: "Directories outside of the project that tests need",
        file: "[\"../shared-data\"]",
        heading: MACHINES,
        list: true,
        ..OTHER
    },
    SettingKey {
        name: "engine-shared",
        value: "DIR",
        help: "Directories that all machines have, which are not sent",
        file: "[\"/opt\"]",
        heading: MACHINES,
        list: true,
        ..OTHER
    },
    SettingKey {
        name: "engine-node-directory",
        value: "DIR",
        help: "Where each machine keeps inputs, on a local disk",
        default: "below /var/tmp",
        file: "\"/scratch/ann\"",
        heading: MACHINES,
        ..OTHER
    },
    SettingKey {
        name: "engine-wrapper",
        value: "WORD",
        help: "Words in front of the worker on each machine, as of a container",
        file: "[\"apptainer\", \"exec\", \"tests.sif\"]",
        heading: MACHINES,
        list: true,
        ..OTHER
    },
    SettingKey {
        name: "engine-wait",
        value: "TIME",
        help: "How long to wait for a machine before sessions run here",
        default: "5m",
        file: "\"5m\"",
        heading: MACHINES,
        ..OTHER
    },
    SettingKey { name: "results", value: "FILE", file: "\"build/**/*.xml\"", heading: RUNNERS, ..OTHER },
    SettingKey { name: "one-test", value: "COMMAND", file: "\"run-one {name}\"", heading: RUNNERS, ..OTHER },
    SettingKey { name: "classpath-file", value: "FILE", file: "\"classpath.txt\"", heading: RUNNERS, ..OTHER },
    SettingKey {
        name: "test-classes",
        value: "DIR",
        file: "[\"build/test-classes\"]",
        heading: RUNNERS,
        list: true,
        ..OTHER
    },
    SettingKey {
        name: "store",
        value: "PLACE",
        help: "Where the history is",
        details: "A directory, or postgres://USER@HOST/DATABASE. The default is in the directory of the project.",
        default: ".unflake",
        file: "\".unflake\"",
        usual: true,
        ..OTHER
    },
];

/// The setting of this name. Panics on a name that is not in the table.
pub(crate) fn key(name: &str) -> &'static SettingKey {
    KEYS.iter().find(|key| key.name == name).unwrap_or_else(|| panic!("there is no setting `{name}`"))
}

/// The environment variable of a setting.
pub(crate) fn variable_of(name: &str) -> String {
    format!("UNFLAKE_{}", name.replace('-', "_").to_uppercase())
}

impl SettingKey {
    pub(crate) fn heading(&self) -> Option<&'static str> {
        Some(self.heading).filter(|heading| !heading.is_empty())
    }

    /// One line, without the default.
    pub(crate) fn help(&self) -> String {
        match unflake_runners::option(self.name) {
            Some(option) => capitalized(option.meaning),
            None => self.help.to_owned(),
        }
    }

    /// The line, what there is to say beyond it, and the default.
    pub(crate) fn long_help(&self) -> String {
        let text = match (unflake_runners::option(self.name), self.details) {
            (Some(option), _) => option.help.to_owned(),
            (None, "") => return format!("{}{}", self.help, self.default_note()),
            (None, details) => format!("{}\n\n{details}", self.help),
        };
        format!("{text}\n\n{}", self.default_note().trim_start()).trim_end().to_owned()
    }

    /// ` [default: …]` where there is a default.
    pub(crate) fn default_note(&self) -> String {
        if self.default.is_empty() { String::new() } else { format!(" [default: {}]", self.default) }
    }

    /// The value that the template of the settings file shows.
    pub(crate) fn file_value(&self) -> String {
        let list = |words: Vec<&str>| {
            format!("[{}]", words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", "))
        };
        match self.name {
            "command" => list(unflake_runners::examples().next().unwrap_or_default().split(' ').collect()),
            "never-excuse" => list(default_never_excuse().collect()),
            _ => self.file.to_owned(),
        }
    }
}

/// The patterns of `never-excuse` where none are set.
pub(crate) fn default_never_excuse() -> impl Iterator<Item = &'static str> {
    NeverExcuse::DEFAULT_PATTERNS.into_iter().chain(unflake_runners::never_excuse())
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
