//! Tells the driver for which target it was built: the settings of cargo are named after it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=UNFLAKE_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
