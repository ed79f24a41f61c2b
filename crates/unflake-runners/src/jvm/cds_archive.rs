//! An archive of the classes that every JVM of a module loads before its first test. It halves the
//! cost of a new JVM.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::spec::apply_env;

/// Empty tests whose run fills the archive.
const JUPITER: &str = "[engine:junit-jupiter]/[class:unflake.jvm.warmup.JupiterWarmUp]/[method:nothing()]\n";
const CLASSIC: &str = "classic:unflake.jvm.warmup.JUnit4WarmUp/nothing(unflake.jvm.warmup.JUnit4WarmUp)\n";
/// Options with which a project decides about archives itself.
const OF_PROJECT: [&str; 4] =
    ["-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:+AutoCreateSharedArchive"];

pub(crate) struct CdsArchive {
    path: PathBuf,
    java: PathBuf,
    /// The beginning of the class path. An archive is tied to it, and needs jars alone.
    front: Vec<String>,
    order: String,
}

/// Splits off the entries that may go to the front: JUnit's own jars, whose class names are unique.
pub(crate) fn split_class_path(class_path: Vec<String>) -> (Vec<String>, Vec<String>) {
    let of_runner = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ours = ["junit", "surefire", "common-j", "opentest4j", "apiguardian", "hamcrest-core"];
        name.ends_with(".jar") && ours.iter().any(|start| name.starts_with(start))
    };
    class_path.into_iter().partition(of_runner)
}

impl CdsArchive {
    /// None: the project has its own archive.
    pub(crate) fn new(
        java: &Path,
        front: &[String],
        cache: &Path,
        options: &[String],
        jupiter: bool,
        classic: bool,
    ) -> Option<Self> {
        if options.iter().any(|option| OF_PROJECT.iter().any(|other| option.starts_with(other))) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        let release = java.parent()?.parent()?.join("release");
        (java, fs::read(release).ok(), front).hash(&mut hasher);
        let path = cache.join("jvm").join(format!("classes-{:016x}.jsa", hasher.finish()));
        let order = [if jupiter { JUPITER } else { "" }, if classic { CLASSIC } else { "" }].concat();
        Some(Self { path, java: java.to_owned(), front: front.to_vec(), order })
    }

    /// The option that uses the archive, once it exists. A JVM that it does not fit ignores it.
    pub(crate) fn option(&self) -> Option<String> {
        self.path.is_file().then(|| format!("-XX:SharedArchiveFile={}", self.path.display()))
    }

    /// Makes it in the background, for later JVMs. A process that fails to make it leaves none.
    pub(crate) fn make(&self, files: &[PathBuf; 2], run_dir: &Path) {
        if self.path.is_file() {
            return;
        }
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (order, new) =
            (run_dir.join(format!("{name}.order")), self.path.with_extension(std::process::id().to_string()));
        if fs::write(&order, &self.order).is_err() {
            return;
        }
        let words: [OsString; 8] = [
            self.java.clone().into(),
            format!("-XX:ArchiveClassesAtExit={}", new.display()).into(),
            "-cp".into(),
            self.front.join(":").into(),
            "unflake.jvm.Main".into(),
            "-".into(),
            files[0].clone().into(),
            files[1].clone().into(),
        ];
        let script = r#"new=$1; path=$2; shift 2; "$@" && mv -f "$new" "$path"; rm -f "$new""#;
        let mut command = Command::new("nice");
        command.args(["-n", "10", "sh", "-c", script, "sh"]).arg(&new).arg(&self.path).args(words).arg(order);
        apply_env(&mut command, &[("JAVA_TOOL_OPTIONS".to_owned(), None)].into());
        let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/").spawn();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_jars_of_the_runner_change_their_place() {
        let path = |text: &str| text.split(':').map(str::to_owned).collect::<Vec<_>>();
        let (front, rest) = split_class_path(path(
            "/p/target/test-classes:/r/lang3.jar:/r/junit-jupiter-api-5.jar:/r/junit/x.jar:/r/junit-4.jar",
        ));
        assert_eq!(front, path("/r/junit-jupiter-api-5.jar:/r/junit-4.jar"));
        assert_eq!(rest, path("/p/target/test-classes:/r/lang3.jar:/r/junit/x.jar"));
    }

    #[test]
    fn a_project_with_an_archive_of_its_own_keeps_it() {
        let options = |word: &str| [word.to_owned()];
        let new = |options: &[String]| {
            CdsArchive::new(Path::new("/jdk/bin/java"), &[], Path::new("/c"), options, true, false)
        };
        assert!(new(&options("-Xshare:off")).is_none());
        assert!(new(&options("-Xmx1g")).is_some_and(|archive| archive.option().is_none()));
    }
}
