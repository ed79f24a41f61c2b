//! A JVM with a class loader for each test: much cheaper than a JVM for each, and less isolated.
//! What tests leave in the JVM itself and in JUnit stays for the next ones.

use std::fs;

use crate::driver::suite::TestCase;
use crate::jvm::cds_archive;
use crate::jvm::module::Jvm;
use crate::process::spec::ProcessSpec;

/// Jars that all class loaders share, by the beginning of their names: JUnit and what its classes
/// need.
const SHARED: [&str; 14] = [
    "junit-3",
    "junit-4",
    "junit-dep-",
    "junit-jupiter",
    "junit-platform",
    "junit-vintage",
    "junit.jar",
    "surefire",
    "common-j",
    "opentest4j",
    "apiguardian",
    "hamcrest",
    "kotlin-stdlib",
    "open-test-reporting",
];
/// Class loaders come and go fast here. Below this size the JVM does not collect them.
const ROOM: &str = "-XX:MetaspaceSize=128m";
const ARCHIVE: &str = "-XX:SharedArchiveFile=";

impl Jvm {
    /// The process that runs each group of equal neighbors in its own class loader.
    pub(crate) fn start_in_process(&self, tests: &[&TestCase]) -> Result<ProcessSpec, String> {
        let (order, line) = self.write_order(tests, false)?;
        // Most code of such a JVM runs a few times and goes with its class loader.
        let mut start = self.with_order(&line, 1, 1)?;
        let class_path = start.words.iter().rposition(|word| word == "-cp").and_then(|at| start.words.get_mut(at + 1));
        let class_path = class_path.ok_or("its JVM has no class path")?;
        let mut whole = class_path.split(':').map(str::to_owned);
        let agent = whole.next();
        let (shared, own): (Vec<String>, Vec<String>) = whole.partition(|path| is_shared(path));
        *class_path = agent.into_iter().chain(shared).collect::<Vec<_>>().join(":");
        // The archive is tied to the beginning of the class path.
        if !cds_archive::split_class_path(own.clone()).0.is_empty() {
            start.words.retain(|word| !word.starts_with(ARCHIVE));
        }
        let loaders = order.with_extension("loaders");
        fs::write(&loaders, own.join("\n")).map_err(|error| format!("{}: {error}", loaders.display()))?;
        start.words.push(loaders.to_string_lossy().into_owned());
        if self.hurried {
            start.words.insert(1, ROOM.to_owned());
        }
        Ok(start)
    }
}

fn is_shared(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".jar") && SHARED.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_junit_and_what_it_needs_is_shared() {
        for shared in ["/r/junit-4.13.2.jar", "/r/junit-jupiter-api-5.10.2.jar", "/r/hamcrest-2.2.jar", "junit.jar"] {
            assert!(is_shared(shared), "{shared}");
        }
        for own in
            ["/p/target/test-classes", "/r/junit-pioneer-2.jar", "/r/junit-4/it.jar", "/r/junit-4", "/r/assertj.jar"]
        {
            assert!(!is_shared(own), "{own}");
        }
    }
}
