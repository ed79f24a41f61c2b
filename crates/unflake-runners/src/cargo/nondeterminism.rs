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
