//! Rules that remove noise: text that differs in every run and means nothing. Each has a name by
//! which it can be disabled, and what it replaced is counted and shown.

use std::fmt;

use regex_lite::Regex;
use unflake_model::SuppressedNoise;

struct Rule {
    name: &'static str,
    /// The replacement.
    instead: &'static str,
    /// The replaced texts; the first group is kept.
    texts: &'static str,
    /// The names of variables whose numbers are replaced.
    named: &'static str,
    /// A cheap check that rules out most texts.
    needs: fn(&str) -> bool,
}

/// The directory that a tool makes below the temporary directory for each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemporaryName {
    /// Occurs in every path with such a directory.
    pub marker: &'static str,
    /// A regular expression for the changing part of the path, without the slash before it.
    pub pattern: &'static str,
}

/// The directories of unflake itself. A world may have one of its own for each environment in it.
const OWN: TemporaryName = TemporaryName { marker: "/unflake-", pattern: r"unflake-[a-z]+-\w{6}(?:/tmp-\d+)?" };

/// The names of all rules, with what each replaces.
pub const RULES: [(&str, &str); 10] = [
    (
        "addresses",
        "memory addresses: 0x7f3a5c01e0d0, identity hashes: Cart@6d06d69c, classes made at run time: MockitoMock$x8rEKLqJ",
    ),
    ("temporary-paths", "the changing part of paths below the temporary directory"),
    ("uuids", "UUIDs: 8-4-4-4-12 hexadecimal digits, or 32 with the bits of version 4"),
    ("dates", "dates: 2027-01-30, Sat, 30 Jan 2027"),
    ("times", "times of day, with their date: 12:30:01.5, 2027-01-30T12:30:01Z"),
    ("time-stamps", "seconds or milliseconds since 1970, until 2033"),
    ("durations", "durations: 0.03s, 12 ms, timedelta(…), and numbers named elapsed, duration and similar"),
    ("pids", "process and thread ids: pid 4711, Thread-3"),
    ("ports", "local ports: 127.0.0.1:43211, port 43211"),
    ("memory-sizes", "amounts of memory: 12.5 MiB, 4096 bytes"),
];

fn digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

fn numbered(text: &str) -> bool {
    digit(text) && [":", "ort", "', ", "%3"].iter().any(|sign| text.contains(sign))
}

/// In the order in which they are used: what comes first takes from what comes later.
static TABLE: [Rule; 10] = [
    Rule {
        name: "uuids",
        instead: "<uuid>",
        texts: r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}\b",
        named: "",
        needs: |text| text.len() >= 32 && digit(text),
    },
    Rule {
        name: "temporary-paths",
        instead: "<temporary>",
        texts: r#"(?:/private)?(?:/var)?/tmp/(?:{names}[^/\s'":;,()\[\]<>]+)|(?:/private)?/var/folders/[^/\s]+/[^/\s]+/T/[^/\s'":;,()\[\]<>]+|{paths}\btmp[a-z0-9_]{8}\b"#,
        named: "",
        needs: |text| text.contains("tmp") || text.contains("/folders/"),
    },
    Rule {
        name: "addresses",
        instead: "<address>",
        // A hash has a digit, and the name of a host seldom.
        texts: r"\b0x[0-9a-fA-F]{6,16}\b|\b1[34]\d{13}\b|([\w$;]@)(?:\d[0-9a-f]{4,7}|[0-9a-f]{4,7}\d|[0-9a-f]{2,5}\d[0-9a-f]{2,5})\b|\b(?:MockitoMock|ByteBuddy)\$\w{8}\b",
        named: "",
        needs: |text| {
            text.contains("0x")
                || text.contains("MockitoMock$")
                || text.contains("ByteBuddy$")
                || digit(text) && (text.len() >= 15 || text.contains('@'))
        },
    },
    Rule {
        name: "times",
        instead: "<time>",
        texts: r"\b(?:\d{4}-\d{2}-\d{2}[T ])?\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?|datetime\.datetime\([^()]*(?:\([^()]*\))?[^()]*\)",
        named: "",
        needs: |text| digit(text) && (text.contains(':') || text.contains("datetime")),
    },
    Rule {
        name: "dates",
        instead: "<date>",
        texts: r"\b\d{4}-\d{2}-\d{2}\b|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2})(?: \d{4})?|datetime\.date\([^()]*\)",
        named: "",
        needs: digit,
    },
    Rule {
        name: "time-stamps",
        instead: "<time stamp>",
        texts: r"\b1\d{9}\.\d+\b|\b1\d{12}\b|\b1\d{9}\b",
        named: r"(?i)time|stamp|now|_at$",
        needs: |text| text.len() >= 10 && digit(text),
    },
    Rule {
        name: "durations",
        instead: "<duration>",
        texts: r"\b\d+(?:\.\d+)?(?:e-\d+)? ?(?:ns|us|µs|ms|s|sec|secs|seconds?|minutes?)\b|\b(?:datetime\.)?timedelta\([^()]*\)",
        named: r"(?i)elapsed|duration|took|latency|_(?:seconds|secs|ms|ns)$",
        needs: digit,
    },
    Rule {
        name: "pids",
        instead: "<number>",
        texts: r"(?i)(\b(?:pid|ppid|tid|process id|thread)[ =:#-]*)\d+\b",
        named: r"(?i)(?:^|[._])(?:p?pid|tid|process_id|getp?pid\(\)|get_native_id\(\)|native_id)$",
        needs: |text| digit(text) && (text.contains("id") || text.contains("ID") || text.contains("hread")),
    },
    Rule {
        name: "ports",
        instead: "<port>",
        texts: r"(?i)((?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::|%3A)|'(?:localhost|127\.0\.0\.1|0\.0\.0\.0|::1?)', |\bport[ =:]+)\d{4,5}\b",
        named: r"(?i)(?:^|[._])port$",
        needs: numbered,
    },
    Rule {
        name: "memory-sizes",
        instead: "<memory>",
        texts: r"\b\d+(?:\.\d+)? ?(?:[kKMGT]i?B|bytes)\b",
        named: r"(?i)(?:^|[._])(?:rss|vms|maxrss|ru_maxrss|memory|peak_memory)$",
        needs: digit,
    },
];

/// Which of the rules had something to replace.
pub(crate) type Mask = u16;

/// The rules that are on, and what they did.
pub struct Rules {
    on: Vec<Active>,
}

struct Active {
    rule: &'static Rule,
    at: usize,
    texts: Regex,
    /// Texts with one of these may have something to replace, too.
    markers: Vec<&'static str>,
    named: Option<Regex>,
    replaced: u32,
    units: u32,
    example: Vec<String>,
}

impl Active {
    /// The first parts of two texts that this rule replaces and that are not the same.
    fn parts<'t>(&self, one: &'t str, other: &'t str) -> Option<(&'t str, &'t str)> {
        let parts = self.texts.find_iter(one).zip(self.texts.find_iter(other));
        parts.map(|(one, other)| (one.as_str(), other.as_str())).find(|(one, other)| one != other)
    }
}

/// There is no rule of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule(pub String);

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
        write!(f, "there is no rule `{}`: {} or `all`", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownRule {}

impl Rules {
    /// All but these; `all` stands for all of them. `temporary`: directories of tools that the rule
    /// for temporary paths replaces.
    pub fn without(off: &[String], temporary: &[TemporaryName]) -> Result<Self, UnknownRule> {
        let known = |name: &str| name == "all" || TABLE.iter().any(|rule| rule.name == name);
        if let Some(unknown) = off.iter().find(|name| !known(name)) {
            return Err(UnknownRule(unknown.clone()));
        }
        let temporary: Vec<TemporaryName> = temporary.iter().copied().chain([OWN]).collect();
        let is_on = |rule: &Rule| !off.iter().any(|name| name == rule.name || name == "all");
        let names: String = temporary.iter().map(|one| format!("{}|", one.pattern)).collect();
        let paths: String = temporary.iter().map(|one| format!("/{}|", one.pattern)).collect();
        let pattern = |text: &str| {
            let text = text.replace("{names}", &names).replace("{paths}", &paths);
            Regex::new(&text).expect("the patterns of rules are right")
        };
        let is_temporary = |rule: &Rule| rule.name == "temporary-paths";
        let active = |(at, rule): (usize, &'static Rule)| Active {
            rule,
            at,
            texts: pattern(rule.texts),
            markers: temporary.iter().filter(|_| is_temporary(rule)).map(|one| one.marker).collect(),
            named: (!rule.named.is_empty()).then(|| pattern(rule.named)),
            replaced: 0,
            units: 0,
            example: Vec::new(),
        };
        Ok(Self { on: TABLE.iter().enumerate().filter(|(_, rule)| is_on(rule)).map(active).collect() })
    }

    /// The text without noise, and which rules it had some for. None: there is nothing to replace.
    pub(crate) fn text(&mut self, text: &str) -> Option<(String, Mask)> {
        let mut clean: Option<String> = None;
        let mut mask = 0;
        for active in &mut self.on {
            let now = clean.as_deref().unwrap_or(text);
            let needed = (active.rule.needs)(now) || active.markers.iter().any(|marker| now.contains(marker));
            if !needed || !active.texts.is_match(now) {
                continue;
            }
            let instead = |found: &regex_lite::Captures<'_>| {
                format!("{}{}", found.get(1).map_or("", |kept| kept.as_str()), active.rule.instead)
            };
            clean = Some(active.texts.replace_all(now, instead).into_owned());
            mask |= 1 << active.at;
            active.replaced += 1;
            if active.example.is_empty() {
                active.example = vec![text.chars().take(200).collect()];
            }
        }
        clean.map(|clean| (clean, mask))
    }

    /// What stands for a number of this name, where it is noise.
    pub(crate) fn number(&mut self, name: &str, number: f64) -> Option<(&'static str, Mask)> {
        let name: String = name.chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
        let since_1970 = (1e9..2e9).contains(&number) || (1e12..2e12).contains(&number);
        let fits = |active: &&mut Active| {
            let is_named = active.named.as_ref().is_some_and(|named| named.is_match(&name));
            match active.rule.name {
                // A fraction of that size is hardly anything else, whatever its name is.
                "time-stamps" => since_1970 && (is_named || number.fract() != 0.0),
                _ => is_named,
            }
        };
        let active = self.on.iter_mut().find(fits)?;
        active.replaced += 1;
        if active.example.is_empty() {
            active.example = vec![format!("{name} = {number}")];
        }
        Some((active.rule.instead, 1 << active.at))
    }

    /// These rules made a unit of a test the same in two runs.
    pub(crate) fn hid(&mut self, mask: Mask, unit: &str, one: &str, other: &str) {
        for active in self.on.iter_mut().filter(|active| mask & (1 << active.at) != 0) {
            active.units += 1;
            if active.example.len() < 3 {
                let (one, other) = active.parts(one, other).unwrap_or((one, other));
                active.example = [unit, one, other].map(str::to_owned).to_vec();
            }
        }
    }

    pub(crate) fn hidden(&self) -> Vec<SuppressedNoise> {
        let suppressed = |active: &Active| SuppressedNoise {
            rule: active.rule.name.to_owned(),
            replaced: active.replaced,
            units: active.units,
            example: active.example.clone(),
        };
        let mut all: Vec<SuppressedNoise> =
            self.on.iter().filter(|active| active.replaced > 0).map(suppressed).collect();
        all.sort_by_key(|hidden| std::cmp::Reverse(hidden.units));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPORARY: TemporaryName = TemporaryName { marker: "/tool-of-", pattern: r"tool-of-[^/]+/run-(?:\d+|last)" };

    #[track_caller]
    fn check(text: &str, clean: &str) {
        let mut rules = Rules::without(&[], &[TEMPORARY]).unwrap();
        let found = rules.text(text).map_or(text.to_owned(), |(clean, _)| clean);
        assert_eq!(found, clean);
    }

    #[test]
    fn noise_is_replaced() {
        check("<shop.Cart object at 0x7f3a5c01e0d0>", "<shop.Cart object at <address>>");
        check("com.acme.Cart@6d06d69c and [I@1b28cdfa", "com.acme.Cart@<address> and [I@<address>");
        check("a Unit$MockitoMock$yZCnPrJx, Unit$MockitoMock$x8rEKLqJ", "a Unit$<address>, Unit$<address>");
        check("wrote /tmp/tool-of-ann/run-12/test_a0/out.txt", "wrote <temporary>/test_a0/out.txt");
        check("wrote /scratch/tool-of-ann/run-last/a.txt", "wrote /scratch<temporary>/a.txt");
        check("wrote /tmp/unflake-state-aB12cd/tmp-65536/a.txt", "wrote <temporary>/a.txt");
        check("wrote /scratch/unflake-state-aB12cd/home/a.txt", "wrote /scratch<temporary>/home/a.txt");
        check("'/tmp/tmpab12cd/data.db'", "'<temporary>/data.db'");
        check("'/scratch/tmpab12cd_e/data.db'", "'/scratch/<temporary>/data.db'");
        check("id 6f1c2d3e-0a1b-4c2d-8e3f-001122334455", "id <uuid>");
        check("6f1c2d3e0a1b4c2d8e3f001122334455", "<uuid>");
        check("at 2027-01-30T12:30:01.25Z, again 12:30:02", "at <time>, again <time>");
        check("due 2027-01-30", "due <date>");
        check("Sat, 30 Jan 2027 12:30:01 GMT", "<date> <time> GMT");
        check("stamp 1800000000.123 and 1800000000123", "stamp <time stamp> and <time stamp>");
        check("1 passed in 0.03s", "1 passed in <duration>");
        check("took 12 ms", "took <duration>");
        check("waited datetime.timedelta(microseconds=312), then", "waited <duration>, then");
        check("pid 4711, Thread-3", "pid <number>, Thread-<number>");
        check("http://127.0.0.1:43211/cart", "http://127.0.0.1:<port>/cart");
        check("?next=http%3A%2F%2Flocalhost%3A43211%2F", "?next=http%3A%2F%2Flocalhost%3A<port>%2F");
        check("('127.0.0.1', 43211)", "('127.0.0.1', <port>)");
        check("used 12.5 MiB of 4096 bytes", "used <memory> of <memory>");
    }

    #[test]
    fn what_is_no_noise_stays() {
        for text in [
            "total 3",
            "3 items",
            "v1.2.3",
            "0xff",
            "error 404",
            "ratio 4:3",
            "ann@example.com",
            "bob@decade.org",
            "cart@12",
            "d41d8cd98f00b204e9800998ecf8427e",
            "/tmp",
            "portable 1234",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn numbers_are_replaced_by_their_names() {
        let mut rules = Rules::without(&[], &[TEMPORARY]).unwrap();
        assert_eq!(rules.number("os.getpid()", 4711.0).unwrap().0, "<number>");
        assert_eq!(rules.number("server.port", 43211.0).unwrap().0, "<port>");
        assert_eq!(rules.number("created_at", 1.8e9).unwrap().0, "<time stamp>");
        assert_eq!(rules.number("created_at", 12.0), None);
        assert_eq!(rules.number("self.start", 1_795_089_600.017).unwrap().0, "<time stamp>");
        assert_eq!(rules.number("self.start", 1_795_089_600.0), None);
        assert_eq!(rules.number("elapsed", 0.25).unwrap().0, "<duration>");
        assert_eq!(rules.number("cart.total", 3.0), None);
        assert_eq!(rules.number("report", 3.0), None);
    }

    #[test]
    fn each_can_be_switched_off_and_reports_its_effect() {
        let off =
            |names: &[&str]| Rules::without(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), &[]);
        assert_eq!(off(&["addresses"]).unwrap().text("at 0x7f3a5c01e0d0"), None);
        assert_eq!(off(&["all"]).unwrap().on.len(), 0);
        let words = off(&["adresses"]).err().unwrap().to_string();
        assert!(words.starts_with("there is no rule `adresses`: addresses, temporary-paths"), "{words}");
        let mut rules = off(&[]).unwrap();
        let (_, mask) = rules.text("at 0x7f3a5c01e0d0").unwrap();
        rules.hid(mask, "x", "at 0x7f3a5c01e0d0", "at 0x7f3a5c01e0d8");
        let hidden = rules.hidden();
        assert_eq!((hidden.len(), &*hidden[0].rule, hidden[0].replaced, hidden[0].units), (1, "addresses", 1, 1));
        assert_eq!(hidden[0].example, ["x", "0x7f3a5c01e0d0", "0x7f3a5c01e0d8"]);
    }

    #[test]
    fn every_rule_says_what_it_does() {
        let mut names: Vec<_> = TABLE.iter().map(|rule| rule.name).collect();
        let mut declared: Vec<_> = RULES.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        declared.sort_unstable();
        assert_eq!(names, declared);
    }
}
