//! Packs the agent for pytest into the binary: every file of it, whatever there is.

use std::path::Path;
use std::{env, fs};

fn main() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents/pytest/unflake_agent");
    println!("cargo::rerun-if-changed={}", sources.display());
    let mut files: Vec<_> = fs::read_dir(&sources)
        .expect("the agent is beside the crates")
        .map(|entry| entry.expect("a directory that can be read").path())
        .filter(|path| path.extension().is_some_and(|end| end == "py"))
        .collect();
    files.sort();
    let entry = |path: &std::path::PathBuf| {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        format!("    ({:?}, include_str!({:?})),\n", format!("unflake_agent/{name}"), path)
    };
    let entries: String = files.iter().map(entry).collect();
    let out = Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("agent.rs");
    fs::write(out, format!("&[\n{entries}]\n")).expect("cargo's directory can be written");
}
