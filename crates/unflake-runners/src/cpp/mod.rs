//! C++: GoogleTest programs and CTest.

mod cmake_build;
pub(crate) mod ctest;
pub(crate) mod gtest;
mod gtest_flags;
pub(crate) mod gtest_output;
mod nondeterminism;
pub(crate) mod traced_build;

use crate::runner::{Profile, ProjectFiles};

/// What the runners of this folder have in common.
const PROFILE: Profile = Profile {
    language: "C++",
    files: ProjectFiles {
        root_markers: &["CMakeLists.txt"],
        global_inputs: &["**/CMakeLists.txt", "**/CMakePresets.json", "**/*.cmake", "**/meson.build", "**/Makefile"],
        ..ProjectFiles::NONE
    },
    call_tables: &[nondeterminism::CPP],
    ..Profile::EMPTY
};
