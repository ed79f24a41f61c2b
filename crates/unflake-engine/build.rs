//! Packs the agent for pytest into the binary: every file of it, whatever there is, and the library with which it traces.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let agent = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../agents/pytest");
    let sources = agent.join("unflake_agent");
    println!("cargo::rerun-if-changed={}", sources.display());
    let mut files = Vec::new();
    python_files(&sources, &mut files);
    files.sort();
    let entry = |name: &Path, path: &Path| {
        format!("    ({:?}, include_bytes!({:?})),\n", Path::new("unflake_agent").join(name), path)
    };
    let mut entries: String =
        files.iter().map(|path| entry(path.strip_prefix(&sources).expect("below it"), path)).collect();
    entries += &entry(Path::new("tracer.so"), &tracer(&agent.join("tracer")));
    fs::write(out().join("agent.rs"), format!("&[\n{entries}]\n")).expect("cargo's directory can be written");
}

/// Adds every `.py` file below a directory.
fn python_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the agent is beside the crates") {
        let path = entry.expect("a directory that can be read").path();
        if path.is_dir() {
            python_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "py") {
            found.push(path);
        }
    }
}

/// Compiles the library, for the same reasons and in the same way as `unflake-trace` does with its own. Where there is none, it is an
/// empty file, and the agent traces in Python.
fn tracer(sources: &Path) -> PathBuf {
    println!("cargo::rerun-if-changed={}", sources.display());
    let out = out().join("tracer.so");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") != "linux" || target("POINTER_WIDTH") != "64" || target("ENDIAN") != "little" {
        fs::write(&out, "").expect("cargo's directory can be written");
        return out;
    }
    let mut rustc = Command::new(env::var("RUSTC").expect("cargo sets it"));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "unflake_tracer", "-C", "opt-level=3"]);
    rustc.args(["-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=symbols", "--cap-lints", "warn", "-o"]);
    rustc.arg(&out).arg(sources.join("tracer.rs"));
    let (target, host) = (env::var("TARGET").expect("cargo sets it"), env::var("HOST").expect("cargo sets it"));
    if target != host {
        rustc.args(["--target", &target]);
    }
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    assert!(rustc.status().expect("rustc can be started").success(), "the tracer for Python does not compile");
    out
}

fn out() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"))
}
