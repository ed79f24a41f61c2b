//! Java: Maven, Gradle, or any class path, with JUnit 3 to 6 or TestNG.

pub(crate) mod agent_build;
pub(crate) mod agent_options;
pub(crate) mod assertions;
pub(crate) mod cds_archive;
pub(crate) mod class_file;
pub(crate) mod class_loaders;
pub(crate) mod class_path;
pub(crate) mod dependencies;
mod factors;
pub(crate) mod forks;
pub(crate) mod gradle;
mod jar_copy;
pub(crate) mod maven;
pub(crate) mod module;
mod module_options;
pub(crate) mod protocol;
mod resource_locks;
mod runtimes;
pub(crate) mod seeds;
pub(crate) mod state;

use std::path::{Path, PathBuf};

use crate::runner::{Capabilities, InProcessIsolation, Profile, ProjectFiles};

const FILES: ProjectFiles = ProjectFiles {
    global_inputs: &["**/META-INF/services/**", "**/junit-platform.properties"],
    restored_builds: &["target", "build"],
    ..ProjectFiles::NONE
};

/// What the runners of this folder have in common: an agent in a JVM runs the tests.
const PROFILE: Profile = Profile {
    language: "Java",
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
        slow_starts: true,
        lists_by_running: false,
        in_process_isolation: Some(InProcessIsolation {
            name: "class loader",
            limits: "ran twice in class loaders only: state outside of the project's classes may hide a leak (--fresh-by process gives each test a JVM)",
        }),
    },
    variables: &["JAVA_HOME"],
    files: FILES,
    factors: &factors::FACTORS,
    other_runtimes: runtimes::others,
    ..Profile::EMPTY
};

/// Whether commands start in this directory.
fn is_here(project: &Path) -> bool {
    std::env::current_dir().is_ok_and(|here| here == project)
}

/// The directory that contains `here` and all modules of a build that was started there.
fn common_root(here: &Path, modules: impl Iterator<Item = PathBuf>) -> PathBuf {
    modules.fold(here.to_owned(), |root, module| {
        let above = root.ancestors().find(|above| module.starts_with(above));
        above.map_or(root.clone(), Path::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_beside_the_working_directory_belong_to_the_project() {
        let root = |here: &str, modules: &[&str]| common_root(Path::new(here), modules.iter().map(PathBuf::from));
        assert_eq!(root("/p", &["/p", "/p/a"]), Path::new("/p"));
        assert_eq!(root("/p/src/test", &["/p"]), Path::new("/p"));
        assert_eq!(root("/p/a/src", &["/p/a", "/p/b"]), Path::new("/p"));
    }
}
