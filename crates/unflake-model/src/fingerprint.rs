//! The identity of failures.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Failure;

/// Only the beginning of a message counts: not more may be stored.
const MAX_MESSAGE: usize = 200;

/// Equal for failures with the same message apart from numbers, addresses, paths and line numbers. Sixteen
/// hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Failure {
    /// Made of phase, file, kind and the first line of the message.
    pub fn fingerprint(&self) -> Fingerprint {
        let file = self.file.as_deref().map_or("", |file| file.rsplit('/').next().unwrap_or(file));
        let parts = [self.phase.word(), file, &self.kind, &first_line(&self.message)];
        Fingerprint(format!("{:016x}", hash(parts.join("\n").as_bytes())))
    }

    /// What [`Fingerprint::of_message`] is for this failure in a report of another program, which may put
    /// the kind before the message.
    pub fn message_fingerprints(&self) -> [Fingerprint; 3] {
        let short = self.kind.rsplit(['.', ':']).next().unwrap_or(&self.kind);
        let texts =
            [self.message.clone(), format!("{}: {}", self.kind, self.message), format!("{short}: {}", self.message)];
        texts.map(|text| Fingerprint::of_message(&text))
    }
}

impl Fingerprint {
    /// Made of the first line of a message alone: other programs do not report phase and file.
    pub fn of_message(message: &str) -> Self {
        Self(format!("{:016x}", hash(first_line(message).as_bytes())))
    }
}

fn first_line(message: &str) -> String {
    let first = message.trim_start().lines().next().unwrap_or("");
    without_chance(&first.chars().take(MAX_MESSAGE).collect::<String>())
}

/// The text with every word that contains a digit or a slash replaced by one word.
fn without_chance(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "_/.-+:".contains(c);
    let mut plain = String::new();
    for piece in text.split_inclusive(|c: char| !is_part(c)) {
        let end = piece.char_indices().next_back().filter(|(_, c)| !is_part(*c)).map_or(piece.len(), |(at, _)| at);
        let (word, rest) = piece.split_at(end);
        plain.push_str(if word.chars().any(|c| c.is_ascii_digit() || c == '/') { "#" } else { word });
        plain.push_str(rest);
    }
    plain
}

/// FNV-1a, because it is stored: the standard library does not promise stable hashes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    fn failure(message: &str, line: u32) -> Failure {
        Failure {
            phase: Phase::Call,
            kind: "AssertionError".to_owned(),
            message: message.to_owned(),
            trace: String::new(),
            file: Some("tests/test_cart.py".to_owned()),
            line: Some(line),
        }
    }

    #[test]
    fn what_changes_from_run_to_run_does_not_count() {
        let one = failure("assert 3 == 4 of <Cart at 0x7f12ab> in /tmp/a1/cart.db\n  more", 12).fingerprint();
        assert_eq!(one, failure("assert 17 == 4 of <Cart at 0x99> in /tmp/b2/x.db\n  other", 30).fingerprint());
        assert_eq!(one.0.len(), 16);
    }

    #[test]
    fn message_and_location_matter() {
        let one = failure("the cart is empty", 12);
        assert_ne!(one.fingerprint(), failure("the cart is full", 12).fingerprint());
        assert_ne!(one.fingerprint(), Failure { kind: "KeyError".to_owned(), ..one.clone() }.fingerprint());
        assert_ne!(one.fingerprint(), Failure { phase: Phase::SetUp, ..one.clone() }.fingerprint());
        assert_ne!(one.fingerprint(), Failure { file: Some("tests/other.py".to_owned()), ..one.clone() }.fingerprint());
    }

    #[test]
    fn a_reported_message_is_recognized_with_and_without_its_kind() {
        let known = Failure { kind: "shop.SoldOut".to_owned(), ..failure("3 boots left\n  more", 12) };
        for reported in ["17 boots left", "shop.SoldOut: 3 boots left", "SoldOut: 3 boots left\nE  more"] {
            assert!(known.message_fingerprints().contains(&Fingerprint::of_message(reported)), "{reported}");
        }
        assert!(!known.message_fingerprints().contains(&Fingerprint::of_message("KeyError: 3 boots left")));
    }

    #[test]
    fn it_is_the_same_on_every_day_and_machine() {
        assert_eq!(failure("the cart is empty", 1).fingerprint().0, "0f22610f779f175d");
    }
}
