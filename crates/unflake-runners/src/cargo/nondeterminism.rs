//! Rust calls whose result varies from run to run.

use unflake_model::Cause;
use unflake_observe::trace::CallTable;

pub(super) const RUST: CallTable = CallTable {
    extensions: &["rs"],
    declares: Some("fn "),
    calls: &[
        (
            Cause::Randomness,
            &[
                "thread_rng",
                "rand::",
                "rng(",
                "random(",
                "getrandom",
                "from_entropy",
                "fastrand",
                "RandomState",
                "/dev/urandom",
                "Uuid::new_v4",
            ],
        ),
        (
            Cause::Time,
            &[
                "SystemTime::now",
                "Instant::now",
                "Utc::now",
                "Local::now",
                "OffsetDateTime::now",
                ".elapsed()",
                "UNIX_EPOCH",
            ],
        ),
        (
            Cause::AsyncWait,
            &[
                "thread::sleep",
                "time::sleep",
                "recv_timeout",
                "wait_timeout",
                "try_recv",
                "try_lock",
                "park_timeout",
                "timeout(",
            ],
        ),
        (Cause::UnorderedCollection, &["HashMap", "HashSet", "DefaultHasher", "read_dir"]),
        (
            Cause::Race,
            &[
                "thread::spawn",
                "thread::scope",
                ".spawn(",
                "Ordering::Relaxed",
                "AtomicU",
                "AtomicI",
                "AtomicBool",
                "static mut",
                ".lock()",
                ".load(",
                ".store(",
            ],
        ),
        (Cause::Network, &["TcpStream", "TcpListener", "UdpSocket", "UnixStream", "reqwest", "ToSocketAddrs"]),
        (
            Cause::Environment,
            &[
                "env::var",
                "env::args",
                "env::temp_dir",
                "current_dir",
                "process::id",
                "available_parallelism",
                "hostname",
            ],
        ),
        (Cause::Io, &["File::open", "File::create", "OpenOptions", "fs::", "stdin()"]),
        (Cause::FloatingPoint, &["mul_add", "par_iter().sum"]),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_lines() {
        let check = |text: &str, expected| assert_eq!(RUST.call_in(text).map(|(cause, _)| cause), expected, "{text}");
        check("let now = SystemTime::now();", Some(Cause::Time));
        check("thread::sleep(Duration::from_millis(5));", Some(Cause::AsyncWait));
        check("let total = operand(3); // SystemTime::now", None);
        check("pub fn tags(text: &str) -> HashMap<String, u32> {", None);
    }
}
