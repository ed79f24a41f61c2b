//! Reads the observations of an attempt as agents write them: one JSON array per line
//! (agents/README.md, 36).
//!
//! The input is untrusted: everything is bounded, and malformed input is an error.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde_json::Value as Json;
use unflake_model::Layer;

use crate::layers::value::Value;

/// Limits of the input: bytes per line, lines of code, numbered entities, line numbers and
/// variables.
const LONGEST_LINE: u64 = 4 << 20;
const MOST_LINES: u64 = 5_000_000;
const MOST_NUMBERED: usize = 1_000_000;
const LAST_LINE: u32 = 100_000_000;
const MOST_VARIABLES: usize = 1000;

/// One observation of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// An assertion was evaluated: `held`, `failed`, `filtered` or `raised`, with its values.
    Assert {
        site: Arc<Site>,
        how: String,
        saw: Vec<(String, Value)>,
    },
    Lines {
        file: Arc<str>,
        ranges: Vec<(u32, u32)>,
    },
    /// A program point, declared before its first row.
    Point {
        number: u32,
        file: Arc<str>,
        function: String,
        when: String,
        variables: Vec<String>,
    },
    Row {
        point: u32,
        values: Vec<Value>,
    },
    /// A page after an action of the user.
    Step {
        action: String,
        address: String,
        tree: Vec<String>,
        text: String,
    },
    /// Output, and its stream.
    Out {
        stream: String,
        text: String,
    },
    Gap {
        layer: Layer,
        why: String,
    },
}

/// An assertion in the sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    pub file: Arc<str>,
    pub function: String,
    pub expression: String,
    pub ordinal: u32,
    pub line: u32,
}

/// Why the observations of an attempt cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    Io(io::Error),
    /// The line number, starting at 1, and the reason.
    Line(u64, &'static str),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "it cannot be read: {error}"),
            Self::Line(line, what) => write!(f, "line {line} {what}"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Calls `tell` for every observation. An incomplete last line belongs to a killed process and is
/// ignored.
pub fn read(mut from: impl BufRead, mut tell: impl FnMut(Said)) -> Result<(), Unreadable> {
    let mut reader = Reader::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        from.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line).map_err(Unreadable::Io)?;
        let wrong = |what| Unreadable::Line(number, what);
        if line.len() as u64 > LONGEST_LINE {
            return Err(wrong("is longer than 4 MiB"));
        }
        if line.pop() != Some(b'\n') {
            return Ok(());
        }
        let Ok(Json::Array(words)) = serde_json::from_slice(&line) else { return Err(wrong("is no JSON array")) };
        let mut words = Words(words.into_iter());
        let kind = words.text().ok_or(wrong("does not begin with a word"))?;
        match (number, &*kind, words.0.as_slice().first()) {
            (1, "format", Some(format)) if *format == 1 => continue,
            (1, ..) => return Err(wrong("does not say that this is format 1")),
            _ => {}
        }
        if let Some(said) = reader.line(&kind, words).map_err(wrong)? {
            tell(said);
        }
    }
    unreachable!("no file has so many lines")
}

/// The entities that have been numbered so far.
#[derive(Default)]
struct Reader {
    files: HashMap<u32, Arc<str>>,
    sites: HashMap<u32, Arc<Site>>,
    /// The number of variables of each point.
    points: HashMap<u32, usize>,
    lines: u64,
}

impl Reader {
    /// None if a line only numbers an entity, or has an unknown type.
    fn line(&mut self, kind: &str, mut words: Words) -> Result<Option<Said>, &'static str> {
        const WRONG: &str = "has not what its first word promises";
        let known =
            |files: &HashMap<u32, Arc<str>>, file| files.get(&file).cloned().ok_or("names a file without number");
        Ok(Some(match kind {
            "file" => {
                let (number, path) = words.number().zip(words.text()).ok_or(WRONG)?;
                self.files.insert(number, path.into());
                return self.bounded().map(|()| None);
            }
            "site" => {
                let number = words.number().ok_or(WRONG)?;
                let file = known(&self.files, words.number().ok_or(WRONG)?)?;
                let (function, expression) = words.text().zip(words.text()).ok_or(WRONG)?;
                let (ordinal, line) = words.number().zip(words.number()).ok_or(WRONG)?;
                self.sites.insert(number, Arc::new(Site { file, function, expression, ordinal, line }));
                return self.bounded().map(|()| None);
            }
            "assert" => {
                let site = self.sites.get(&words.number().ok_or(WRONG)?).cloned();
                let site = site.ok_or("names an assertion without number")?;
                let how = words.text().ok_or(WRONG)?;
                let saw = words.list().ok_or(WRONG)?.into_iter().map(pair).collect::<Option<_>>().ok_or(WRONG)?;
                Said::Assert { site, how, saw }
            }
            "lines" => {
                let file = known(&self.files, words.number().ok_or(WRONG)?)?;
                let ranges: Option<Vec<_>> = words.list().ok_or(WRONG)?.into_iter().map(range).collect();
                let ranges = ranges.ok_or("has lines of code that cannot be")?;
                self.lines += ranges.iter().map(|(first, last)| u64::from(last - first) + 1).sum::<u64>();
                if self.lines > MOST_LINES {
                    return Err("is one line of code too many");
                }
                Said::Lines { file, ranges }
            }
            "point" => {
                let number = words.number().ok_or(WRONG)?;
                let file = known(&self.files, words.number().ok_or(WRONG)?)?;
                let (function, when) = words.text().zip(words.text()).ok_or(WRONG)?;
                let variables: Vec<String> = words.texts().ok_or(WRONG)?;
                if variables.len() > MOST_VARIABLES {
                    return Err("has more variables than can be");
                }
                if self.points.insert(number, variables.len()).is_some() {
                    return Err("numbers a place a second time");
                }
                self.bounded()?;
                Said::Point { number, file, function, when, variables }
            }
            "row" => {
                let point = words.number().ok_or(WRONG)?;
                let variables = *self.points.get(&point).ok_or("names a place without number")?;
                let values: Option<Vec<Value>> = words.list().ok_or(WRONG)?.into_iter().map(Value::of).collect();
                let values = values.ok_or("has a value that cannot be")?;
                if values.len() != variables {
                    return Err("has not as many values as there are variables");
                }
                Said::Row { point, values }
            }
            "step" => {
                let (action, address) = words.text().zip(words.text()).ok_or(WRONG)?;
                let (tree, text) = words.texts().zip(words.text()).ok_or(WRONG)?;
                Said::Step { action, address, tree, text }
            }
            "out" => {
                let (stream, text) = words.text().zip(words.text()).ok_or(WRONG)?;
                Said::Out { stream, text }
            }
            "gap" => {
                let (layer, why) = words.text().zip(words.text()).ok_or(WRONG)?;
                Said::Gap { layer: Layer::from_word(&layer).ok_or("names no layer")?, why }
            }
            _ => return Ok(None),
        }))
    }

    fn bounded(&self) -> Result<(), &'static str> {
        let most = self.files.len().max(self.sites.len()).max(self.points.len());
        if most > MOST_NUMBERED { Err("numbers one thing too many") } else { Ok(()) }
    }
}

/// The remaining elements of a line.
struct Words(std::vec::IntoIter<Json>);

impl Words {
    fn text(&mut self) -> Option<String> {
        match self.0.next()? {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u32> {
        number(&self.0.next()?)
    }

    fn list(&mut self) -> Option<Vec<Json>> {
        match self.0.next()? {
            Json::Array(list) => Some(list),
            _ => None,
        }
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        let text = |one| if let Json::String(text) = one { Some(text) } else { None };
        self.list()?.into_iter().map(text).collect()
    }
}

fn number(json: &Json) -> Option<u32> {
    json.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn pair(json: Json) -> Option<(String, Value)> {
    match json {
        Json::Array(two) if two.len() == 2 => {
            let mut two = Words(two.into_iter());
            Some((two.text()?, Value::of(two.0.next()?)?))
        }
        _ => None,
    }
}

fn range(json: Json) -> Option<(u32, u32)> {
    let two = json.as_array().filter(|two| two.len() == 2)?;
    let (first, last) = (number(&two[0])?, number(&two[1])?);
    (first <= last && last <= LAST_LINE).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Said>, String> {
        let mut said = Vec::new();
        read(text.as_bytes(), |one| said.push(one)).map_err(|why| why.to_string()).map(|()| said)
    }

    #[test]
    fn what_the_contract_has_is_read() {
        let said = all(concat!(
            "[\"format\", 1]\n",
            "[\"file\", 0, \"tests/test_cart.py\"]\n",
            "[\"site\", 3, 0, \"test_total\", \"cart.total == 3\", 0, 12]\n",
            "[\"assert\", 3, \"held\", [[\"cart.total\", 3], [\"cart\", {\"type\": \"Cart\", \"size\": 2}]]]\n",
            "[\"lines\", 0, [[1, 4], [9, 9]]]\n",
            "[\"point\", 0, 0, \"Cart.add\", \"enter\", [\"n\", \"price\"]]\n",
            "[\"row\", 0, [1, 2.5]]\n",
            "[\"step\", \"click\", \"http://localhost/\", [\"- heading\"], \"Cart\"]\n",
            "[\"out\", \"stdout\", \"hello\\n\"]\n",
            "[\"something new\", 1]\n",
            "[\"gap\", \"code\", \"a C extension\"]\n",
            "[\"row\", 0, [1"
        ))
        .unwrap();
        assert_eq!(said.len(), 7);
        let Said::Assert { site, how, saw } = &said[0] else { panic!("{said:?}") };
        assert_eq!((&*site.file, site.line, &**how), ("tests/test_cart.py", 12, "held"));
        assert_eq!(saw[0], ("cart.total".to_owned(), Value::Int(3)));
        assert_eq!(saw[1].1, Value::Other { kind: "Cart".into(), size: Some(2), text: None });
        assert_eq!(said[1], Said::Lines { file: "tests/test_cart.py".into(), ranges: vec![(1, 4), (9, 9)] });
        assert_eq!(said[3], Said::Row { point: 0, values: vec![Value::Int(1), Value::Float(2.5)] });
        assert_eq!(said[6], Said::Gap { layer: Layer::Code, why: "a C extension".to_owned() });
    }

    #[test]
    fn what_is_not_as_it_should_be_is_refused_in_words() {
        let after = |line: &str| all(&format!("[\"format\", 1]\n[\"file\", 0, \"a\"]\n{line}\n")).unwrap_err();
        assert_eq!(all("[\"format\", 2]\n").unwrap_err(), "line 1 does not say that this is format 1");
        assert_eq!(all("hello\n").unwrap_err(), "line 1 is no JSON array");
        assert_eq!(after("[\"lines\", 7, []]"), "line 3 names a file without number");
        assert_eq!(after("[\"lines\", 0, [[4, 1]]]"), "line 3 has lines of code that cannot be");
        assert_eq!(after("[\"lines\", 0, [[1, 90000000]]]"), "line 3 is one line of code too many");
        assert_eq!(after("[\"lines\", 0, [[1, 4000000000]]]"), "line 3 has lines of code that cannot be");
        assert_eq!(after("[\"assert\", 0, \"held\", []]"), "line 3 names an assertion without number");
        assert_eq!(
            after("[\"point\", 0, 0, \"f\", \"enter\", [\"x\"]]\n[\"row\", 0, []]"),
            "line 4 has not as many values as there are variables"
        );
        assert_eq!(after("[\"row\", 0, []]"), "line 3 names a place without number");
        assert_eq!(after("[\"gap\", \"taste\", \"x\"]"), "line 3 names no layer");
        assert_eq!(after("[\"site\", 1]"), "line 3 has not what its first word promises");
        assert_eq!(after("[1]"), "line 3 does not begin with a word");
        assert_eq!(after(&format!("[\"out\", \"{}\"]", "x".repeat(5 << 20))), "line 3 is longer than 4 MiB");
    }

    #[test]
    fn an_attempt_that_died_at_once_has_told_nothing() {
        assert_eq!(all(""), Ok(Vec::new()));
        assert_eq!(all("[\"form"), Ok(Vec::new()));
    }
}
