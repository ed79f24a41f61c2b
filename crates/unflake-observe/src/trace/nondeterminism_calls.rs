//! What a line of native code reaches for, as far as its text says: no instrument sees calls out of the project there.

use unflake_model::Cause;

/// Words that make a line vary, by the ends of the names of files that they hold for.
const RUST: &[(Cause, &[&str])] = &[
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
        &["env::var", "env::args", "env::temp_dir", "current_dir", "process::id", "available_parallelism", "hostname"],
    ),
    (Cause::Io, &["File::open", "File::create", "OpenOptions", "fs::", "stdin()"]),
    (Cause::FloatingPoint, &["mul_add", "par_iter().sum"]),
];
const CXX: &[(Cause, &[&str])] = &[
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
];

/// Whether anything is known of the language of this file.
pub(crate) fn can_mention(file: &str) -> bool {
    table(file).is_some()
}

/// The first of these lines that names something, with the likeliest cause and the word that says so.
pub(crate) fn named<'a>(
    lines: impl IntoIterator<Item = (u32, &'a str)>,
    file: &str,
) -> Option<(u32, Cause, &'static str)> {
    lines.into_iter().find_map(|(at, text)| mentions(file, text).map(|(cause, word)| (at, cause, word)))
}

fn mentions(file: &str, text: &str) -> Option<(Cause, &'static str)> {
    let code = text.split("//").next().unwrap_or_default();
    // What a function is given or gives back says nothing of what it does.
    if has_word(code, "fn ") {
        return None;
    }
    let named = |words: &&'static [&'static str]| words.iter().copied().find(|word| has_word(code, word));
    table(file)?.iter().find_map(|(cause, words)| Some((*cause, named(words)?)))
}

fn table(file: &str) -> Option<&'static [(Cause, &'static [&'static str])]> {
    match file.rsplit('.').next().unwrap_or_default() {
        "rs" => Some(RUST),
        "c" | "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" | "ipp" | "inl" => Some(CXX),
        _ => None,
    }
}

/// Whether the text has this as words of its own: `rand(` is not in `operand(`.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let begins_with_letter = word.starts_with(is_letter);
    text.match_indices(word).any(|(at, _)| !begins_with_letter || !text[..at].ends_with(is_letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_names_is_what_it_reaches_for() {
        let of = |file: &str, text: &str| mentions(file, text).map(|(cause, _)| cause);
        assert_eq!(of("src/lib.rs", "let now = SystemTime::now();"), Some(Cause::Time));
        assert_eq!(of("src/lib.rs", "let seed = RandomState::new().build_hasher().finish();"), Some(Cause::Randomness));
        assert_eq!(of("src/lib.rs", "thread::sleep(Duration::from_millis(5));"), Some(Cause::AsyncWait));
        assert_eq!(of("src/lib.rs", "let total = operand(3); // SystemTime::now"), None);
        assert_eq!(of("src/lib.rs", "pub fn tags(text: &str) -> HashMap<String, u32> {"), None);
        assert_eq!(of("a/dice.cpp", "return std::rand() % 6 + 1;"), Some(Cause::Randomness));
        assert_eq!(of("a/dice.cpp", "return operand() + 1;"), None);
        assert_eq!(of("a/shard.hpp", "return getpid() % 7;"), Some(Cause::Environment));
        assert_eq!(of("shop/cart.py", "return random.random()"), None);
    }
}
