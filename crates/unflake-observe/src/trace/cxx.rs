use crate::trace::runtime::Runtime;

/// Flags for building a C or C++ program so that it can be traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags {
    /// For compiling the project's own files. Not for linking: clang would link a runtime of its own, which shadows ours.
    pub compile: Vec<String>,
    /// For linking, at any place of the command line.
    pub link: Vec<String>,
}

/// For clang, from version 6.
pub fn clang(runtime: &Runtime) -> Flags {
    // First: build systems may hand the compiler's flags to the linker too. And gcc has no such flag.
    let link = ["-fno-sanitize-link-runtime".to_owned()].into_iter().chain(link(runtime)).collect();
    let compile = ["-g", "-fsanitize-coverage=trace-pc-guard,pc-table,no-prune"].map(str::to_owned).into();
    Flags { compile, link }
}

/// For gcc. Slower than clang: each event has to find out where it came from.
pub fn gcc(runtime: &Runtime) -> Flags {
    Flags { compile: ["-g", "-fsanitize-coverage=trace-pc"].map(str::to_owned).into(), link: link(runtime) }
}

fn link(runtime: &Runtime) -> Vec<String> {
    let directory = runtime.directory().display();
    // Some linkers drop libraries that nothing before them on the line has asked for.
    let kept = ["-Wl,--push-state,--no-as-needed", "-lunflake_trace", "-Wl,--pop-state"].map(str::to_owned);
    [format!("-L{directory}"), format!("-Wl,-rpath,{directory}")].into_iter().chain(kept).collect()
}
