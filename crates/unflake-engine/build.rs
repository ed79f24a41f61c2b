//! Packs the agent for pytest into the binary: every file of it, whatever there is, and the library with which it traces.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let agent = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../agents/pytest");
    let sources = agent.join("unflake_agent");
    println!("cargo::rerun-if-changed={}", sources.display());
    let mut files: Vec<_> = fs::read_dir(&sources)
        .expect("the agent is beside the crates")
        .map(|entry| entry.expect("a directory that can be read").path())
        .filter(|path| path.extension().is_some_and(|end| end == "py"))
        .collect();
    files.sort();
    files.push(tracer(&agent.join("tracer")));
    let entry = |path: &PathBuf| {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        format!("    ({:?}, include_bytes!({:?})),\n", format!("unflake_agent/{name}"), path)
    };
    let entries: String = files.iter().map(entry).collect();
    fs::write(out().join("agent.rs"), format!("&[\n{entries}]\n")).expect("cargo's directory can be written");
}

/// Compiles the library, for the same reasons and in the same way as `unflake-observe` does with its own. Where there is none, it is an
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
