//! Compiles the preload shim (`agents/preload`) so that the crate can embed it.
//!
//! It is compiled with rustc alone and always optimised, because it runs inside other programs.

use std::env::var;
use std::path::Path;
use std::process::Command;

fn main() {
    let sources = Path::new(&var("CARGO_MANIFEST_DIR").unwrap()).join("../../agents/preload");
    println!("cargo::rerun-if-changed={}", sources.display());
    let out = Path::new(&var("OUT_DIR").unwrap()).join("libunflake_under.so");
    let known = var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux")
        && var("CARGO_CFG_TARGET_ENV").is_ok_and(|library| library == "gnu")
        && ["x86_64", "aarch64"].contains(&var("CARGO_CFG_TARGET_ARCH").unwrap().as_str());
    if known {
        compile(&sources.join("shim.rs"), &out);
    } else {
        std::fs::write(&out, "").unwrap(); // `Shim::new` reports that there is none.
    }
}

fn compile(source: &Path, out: &Path) {
    let mut rustc = Command::new(var("RUSTC").unwrap());
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "unflake_under", "-C", "opt-level=3"]);
    rustc.args(["-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=symbols", "--cap-lints", "warn"]);
    rustc.args(["-C", "link-arg=-Wl,-soname,libunflake_under.so", "-o"]).arg(out).arg(source);
    if var("TARGET").unwrap() != var("HOST").unwrap() {
        rustc.args(["--target", &var("TARGET").unwrap()]);
    }
    if let Ok(linker) = var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    assert!(rustc.status().expect("rustc can be started").success(), "the shim does not compile");
}
