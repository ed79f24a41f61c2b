//! Compiles the tracing runtime, `agents/native`, which the crate embeds.
//!
//! It is compiled by rustc directly and not as a crate of the workspace: it is a library for other
//! processes, and always optimized, whatever the profile of this crate.

use std::env::var;
use std::path::Path;
use std::process::Command;

fn main() {
    let sources = Path::new(&var("CARGO_MANIFEST_DIR").unwrap()).join("../../agents/native");
    println!("cargo::rerun-if-changed={}", sources.display());
    let out = Path::new(&var("OUT_DIR").unwrap()).join("libunflake_trace.so");
    let known = var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux")
        && var("CARGO_CFG_TARGET_ENV").is_ok_and(|library| library == "gnu")
        && ["x86_64", "aarch64"].contains(&var("CARGO_CFG_TARGET_ARCH").unwrap().as_str());
    if known {
        compile(&sources.join("runtime.rs"), &out);
    } else {
        std::fs::write(&out, "").unwrap(); // The crate reports that there is none.
    }
    println!("cargo::rustc-env=TRACE_RUNTIME_HASH={:016x}", hash(&std::fs::read(&out).unwrap()));
}

fn compile(source: &Path, out: &Path) {
    let mut rustc = Command::new(var("RUSTC").unwrap());
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "unflake_trace", "-C", "opt-level=3"]);
    rustc.args(["-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=symbols", "--cap-lints", "warn"]);
    rustc.args(["-C", "link-arg=-Wl,-soname,libunflake_trace.so", "-o"]).arg(out).arg(source);
    if var("TARGET").unwrap() != var("HOST").unwrap() {
        rustc.args(["--target", &var("TARGET").unwrap()]);
    }
    if let Ok(linker) = var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    let status = rustc.status().expect("rustc can be started");
    assert!(status.success(), "the tracing runtime does not compile");
}

/// FNV-1a, used as a name for these bytes.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
