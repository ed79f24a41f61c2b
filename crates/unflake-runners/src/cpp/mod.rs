//! C++: GoogleTest programs and CTest.

pub(crate) mod ctest;
pub(crate) mod gtest;
pub(crate) mod gtest_output;
