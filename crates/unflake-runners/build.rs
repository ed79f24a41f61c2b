//! Packs what travels inside the binary: the agents that enter a runner, and the program that cargo
//! starts in place of test programs. Also passes on the target that the crate is built for.

use std::env::var;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/cargo/hand-over");
    println!("cargo::rustc-env=UNFLAKE_TARGET={}", var("TARGET").unwrap());
    let hand_over = out_dir().join("hand-over");
    // The program makes system calls itself, and those differ by system and processor.
    if var("TARGET").unwrap() == "x86_64-unknown-linux-gnu" {
        compile_hand_over(Path::new("src/cargo/hand-over/main.rs"), &hand_over);
    } else {
        fs::write(&hand_over, "").unwrap(); // unflake itself takes its place.
    }
    let agents = Path::new(&var("CARGO_MANIFEST_DIR").unwrap()).join("../../agents");
    let java = ["agent", "maven"].iter().flat_map(|part| sources(&agents.join("jvm"), part, "java"));
    pack(&java.collect::<Vec<_>>(), "jvm_agent.rs");
    let agent = agents.join("pytest");
    let mut files = sources(&agent, "unflake_agent", "py");
    files.extend(sources(&agent, "unflake_tox", "py"));
    for name in ["METADATA", "entry_points.txt"].map(|name| format!("unflake_tox.dist-info/{name}")) {
        files.push((name.clone(), agent.join(name)));
    }
    files.push(("unflake_agent/tracer.so".to_owned(), compile_tracer(&agent.join("tracer"))));
    pack(&files, "pytest_agent.rs");
}

/// Names and paths of all files of a package with this extension, folder by folder.
fn sources(agent: &Path, package: &str, extension: &str) -> Vec<(String, PathBuf)> {
    let folder = agent.join(package);
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut entries: Vec<PathBuf> =
        fs::read_dir(&folder).expect("the agent is beside the crates").map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let mut files = Vec::new();
    for path in entries {
        let name = format!("{package}/{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() && !name.ends_with("__pycache__") {
            files.extend(sources(agent, &name, extension));
        } else if path.extension().is_some_and(|end| end == extension) {
            files.push((name, path));
        }
    }
    files
}

/// Writes an expression with the name and the content of every file.
fn pack(files: &[(String, PathBuf)], name: &str) {
    let entry = |(name, path): &(String, PathBuf)| {
        // What this script made itself is always newer than its last run.
        if !path.starts_with(out_dir()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        format!("    ({name:?}, include_bytes!({path:?})),\n")
    };
    let entries: String = files.iter().map(entry).collect();
    fs::write(out_dir().join(name), format!("&[\n{entries}]\n")).unwrap();
}

/// Compiles the library with which the agent traces. Without one, it is an empty file and the agent
/// traces in the interpreter.
fn compile_tracer(sources: &Path) -> PathBuf {
    println!("cargo::rerun-if-changed={}", sources.display());
    let library = out_dir().join("tracer.so");
    let target = |what: &str| var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") != "linux" || target("POINTER_WIDTH") != "64" || target("ENDIAN") != "little" {
        fs::write(&library, "").unwrap();
        return library;
    }
    let mut rustc = rustc("cdylib", "unflake_tracer", "3");
    rustc.arg("-o").arg(&library).arg(sources.join("tracer.rs"));
    assert!(rustc.status().expect("rustc can be started").success(), "the tracer does not compile");
    library
}

/// A program without any library, always optimized.
fn compile_hand_over(source: &Path, program: &Path) {
    let mut rustc = rustc("bin", "hand_over", "s");
    rustc.args(["-C", "relocation-model=static"]);
    for argument in ["-nostartfiles", "-nostdlib", "-static"] {
        rustc.args(["-C", &format!("link-arg={argument}")]);
    }
    rustc.arg("-o").arg(program).arg(source);
    assert!(rustc.status().expect("rustc can be started").success(), "the hand-over program does not compile");
}

fn rustc(crate_type: &str, name: &str, level: &str) -> Command {
    let mut rustc = Command::new(var("RUSTC").unwrap());
    rustc.args(["--edition", "2024", "--crate-type", crate_type, "--crate-name", name]);
    rustc.args(["-C", &format!("opt-level={level}"), "-C", "panic=abort", "-C", "codegen-units=1"]);
    rustc.args(["-C", "strip=symbols", "--cap-lints", "warn"]);
    if var("TARGET").unwrap() != var("HOST").unwrap() {
        rustc.args(["--target", &var("TARGET").unwrap()]);
    }
    if let Ok(linker) = var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    rustc
}

fn out_dir() -> PathBuf {
    PathBuf::from(var("OUT_DIR").unwrap())
}
