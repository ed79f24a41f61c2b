//! C and C++ calls whose result varies from run to run.

use unflake_model::Cause;
use unflake_observe::trace::CallTable;

pub(super) const CPP: CallTable = CallTable {
    extensions: &["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "ipp", "inl"],
    declares: None,
    calls: &[
        (
            Cause::Randomness,
            &[
                "rand(",
                "rand_r(",
                "drand48",
                "random(",
                "random_device",
                "mt19937",
                "getrandom",
                "arc4random",
                "uniform_",
                "default_random_engine",
                "/dev/urandom",
                "random_shuffle",
            ],
        ),
        (
            Cause::Time,
            &[
                "::now()",
                "time(nullptr)",
                "time(NULL)",
                "time(0)",
                "gettimeofday",
                "clock_gettime",
                "localtime",
                "gmtime",
                "clock()",
            ],
        ),
        (
            Cause::AsyncWait,
            &[
                "sleep_for",
                "sleep_until",
                "usleep",
                "nanosleep",
                "sleep(",
                "wait_for",
                "wait_until",
                "try_lock",
                "poll(",
                "select(",
            ],
        ),
        (Cause::UnorderedCollection, &["unordered_map", "unordered_set", "std::hash", "readdir", "directory_iterator"]),
        (
            Cause::Race,
            &[
                "std::thread",
                "std::jthread",
                "std::async",
                "pthread_create",
                "std::atomic",
                "memory_order",
                "lock_guard",
                "unique_lock",
                ".detach()",
            ],
        ),
        (Cause::Network, &["socket(", "connect(", "accept(", "getaddrinfo", "recv(", "send("]),
        (
            Cause::Environment,
            &["getenv", "getpid", "hardware_concurrency", "gethostname", "setlocale", "getcwd", "sysconf"],
        ),
        (Cause::Resource, &["RLIMIT", "dup(", "bad_alloc", "malloc("]),
        (Cause::Io, &["fopen", "ifstream", "ofstream", "fstream", "open(", "std::filesystem", "mkstemp", "tmpfile"]),
        (Cause::FloatingPoint, &["fma("]),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_lines() {
        let check = |text: &str, expected| assert_eq!(CPP.call_in(text).map(|(cause, _)| cause), expected, "{text}");
        check("return std::rand() % 6 + 1;", Some(Cause::Randomness));
        check("return getpid() % 7;", Some(Cause::Environment));
        check("return operand() + 1;", None);
    }
}
