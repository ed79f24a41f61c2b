//! Tells the driver for which target it was built: the settings of cargo are named after it. And compiles the program that
//! cargo starts in place of test programs, so that it can travel inside the crate.

use std::env::var;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=hand-over");
    println!("cargo::rustc-env=UNFLAKE_TARGET={}", var("TARGET").unwrap());
    let out = Path::new(&var("OUT_DIR").unwrap()).join("hand-over");
    // It speaks to the system itself, and that differs by system and machine.
    if var("TARGET").unwrap() == "x86_64-unknown-linux-gnu" {
        compile(Path::new("hand-over/main.rs"), &out);
    } else {
        std::fs::write(&out, "").unwrap(); // unflake itself is started in its place.
    }
}

/// With the compiler alone and not as a crate of the workspace: it is a program without any library, always optimised.
fn compile(source: &Path, out: &Path) {
    let mut rustc = Command::new(var("RUSTC").unwrap());
    rustc.args(["--edition", "2024", "--crate-type", "bin", "--crate-name", "hand_over", "-C", "opt-level=s"]);
    rustc.args(["-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=symbols", "-C", "relocation-model=static"]);
    for argument in ["-nostartfiles", "-nostdlib", "-static"] {
        rustc.args(["-C", &format!("link-arg={argument}")]);
    }
    rustc.args(["--cap-lints", "warn", "-o"]).arg(out).arg(source);
    if var("TARGET").unwrap() != var("HOST").unwrap() {
        rustc.args(["--target", &var("TARGET").unwrap()]);
    }
    if let Ok(linker) = var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    let status = rustc.status().expect("rustc can be started");
    assert!(status.success(), "the program for the hand-over does not compile");
}
