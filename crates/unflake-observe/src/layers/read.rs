//! Reads the observations of an attempt as agents write them: one JSON array per line
//! (agents/README.md, 36).
//!
//! The input is untrusted: everything is bounded, and malformed input is an error.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde_json::Value as Json;
use unflake_model::Layer;

use crate::layers::value::Value;

/// Limits of the input: bytes per line, lines of code, numbered entities, line numbers and
/// variables.
const MAX_LINE_BYTES: u64 = 4 << 20;
const MAX_CODE_LINES: u64 = 5_000_000;
const MAX_NUMBERED: usize = 1_000_000;
const MAX_LINE_NUMBER: u32 = 100_000_000;
const MAX_VARIABLES: usize = 1000;

/// One observation of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentObservation {
    /// An assertion was evaluated: `held`, `failed`, `filtered` or `raised`, with its values.
    Assert {
        site: Arc<ObservedAssertion>,
        how: String,
        saw: Vec<(String, Value)>,
    },
    Lines {
        file: Arc<str>,
        ranges: Vec<(u32, u32)>,
    },
    /// The branches that were taken: line and description.
    Branches {
        file: Arc<str>,
        taken: Vec<(u32, String)>,
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
pub struct ObservedAssertion {
    pub file: Arc<str>,
    pub function: String,
    pub expression: String,
    pub ordinal: u32,
    pub line: u32,
}

/// Why the observations of an attempt cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ObservationError {
    #[error("it cannot be read: {0}")]
    Io(#[source] io::Error),
    /// The line number, starting at 1, and the reason.
    #[error("line {0} {1}")]
    Line(u64, &'static str),
}

/// Calls `each` for every observation. An incomplete last line belongs to a killed process and is
/// ignored.
pub fn read(mut from: impl BufRead, mut each: impl FnMut(AgentObservation)) -> Result<(), ObservationError> {
    let mut reader = LayerReader::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        from.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line).map_err(ObservationError::Io)?;
        let error = |what| ObservationError::Line(number, what);
        if line.len() as u64 > MAX_LINE_BYTES {
            return Err(error("is longer than 4 MiB"));
        }
        if line.pop() != Some(b'\n') {
            return Ok(());
        }
        let Ok(Json::Array(elements)) = serde_json::from_slice(&line) else { return Err(error("is not a JSON array")) };
        let mut elements = LineElements(elements.into_iter());
        let kind = elements.text().ok_or(error("does not begin with a word"))?;
        match (number, &*kind, elements.0.as_slice().first()) {
            (1, "format", Some(format)) if *format == 1 => continue,
            (1, ..) => return Err(error("does not say that this is format 1")),
            _ => {}
        }
        if let Some(observation) = reader.line(&kind, elements).map_err(error)? {
            each(observation);
        }
    }
    unreachable!("no file has so many lines")
}

/// The entities that have been numbered so far.
#[derive(Default)]
struct LayerReader {
    files: HashMap<u32, Arc<str>>,
    sites: HashMap<u32, Arc<ObservedAssertion>>,
    /// The number of variables of each point.
    points: HashMap<u32, usize>,
    lines: u64,
}

impl LayerReader {
    /// None if a line only numbers an entity, or has an unknown type.
    fn line(&mut self, kind: &str, mut elements: LineElements) -> Result<Option<AgentObservation>, &'static str> {
        const MALFORMED: &str = "has not what its first word promises";
        let known =
            |files: &HashMap<u32, Arc<str>>, file| files.get(&file).cloned().ok_or("names a file without number");
        Ok(Some(match kind {
            "file" => {
                let (number, path) = elements.number().zip(elements.text()).ok_or(MALFORMED)?;
                self.files.insert(number, path.into());
                return self.bounded().map(|()| None);
            }
            "site" => {
                let number = elements.number().ok_or(MALFORMED)?;
                let file = known(&self.files, elements.number().ok_or(MALFORMED)?)?;
                let (function, expression) = elements.text().zip(elements.text()).ok_or(MALFORMED)?;
                let (ordinal, line) = elements.number().zip(elements.number()).ok_or(MALFORMED)?;
                self.sites.insert(number, Arc::new(ObservedAssertion { file, function, expression, ordinal, line }));
                return self.bounded().map(|()| None);
            }
            "assert" => {
                let site = self.sites.get(&elements.number().ok_or(MALFORMED)?).cloned();
                let site = site.ok_or("names an assertion without number")?;
                let how = elements.text().ok_or(MALFORMED)?;
                let saw =
                    elements.list().ok_or(MALFORMED)?.into_iter().map(pair).collect::<Option<_>>().ok_or(MALFORMED)?;
                AgentObservation::Assert { site, how, saw }
            }
            "lines" => {
                let file = known(&self.files, elements.number().ok_or(MALFORMED)?)?;
                let ranges: Option<Vec<_>> = elements.list().ok_or(MALFORMED)?.into_iter().map(range).collect();
                let ranges = ranges.ok_or("has lines of code that cannot be")?;
                self.lines += ranges.iter().map(|(first, last)| u64::from(last - first) + 1).sum::<u64>();
                if self.lines > MAX_CODE_LINES {
                    return Err("is one line of code too many");
                }
                AgentObservation::Lines { file, ranges }
            }
            "branches" => {
                let file = known(&self.files, elements.number().ok_or(MALFORMED)?)?;
                let taken: Option<Vec<_>> = elements.list().ok_or(MALFORMED)?.into_iter().map(branch).collect();
                let taken = taken.ok_or("has branches that cannot be")?;
                self.lines += taken.len() as u64;
                if self.lines > MAX_CODE_LINES {
                    return Err("is one line of code too many");
                }
                AgentObservation::Branches { file, taken }
            }
            "point" => {
                let number = elements.number().ok_or(MALFORMED)?;
                let file = known(&self.files, elements.number().ok_or(MALFORMED)?)?;
                let (function, when) = elements.text().zip(elements.text()).ok_or(MALFORMED)?;
                let variables: Vec<String> = elements.texts().ok_or(MALFORMED)?;
                if variables.len() > MAX_VARIABLES {
                    return Err("has more variables than can be");
                }
                if self.points.insert(number, variables.len()).is_some() {
                    return Err("numbers a place a second time");
                }
                self.bounded()?;
                AgentObservation::Point { number, file, function, when, variables }
            }
            "row" => {
                let point = elements.number().ok_or(MALFORMED)?;
                let variables = *self.points.get(&point).ok_or("names a place without number")?;
                let values: Option<Vec<Value>> = elements.list().ok_or(MALFORMED)?.into_iter().map(Value::of).collect();
                let values = values.ok_or("has a value that cannot be")?;
                if values.len() != variables {
                    return Err("has not as many values as there are variables");
                }
                AgentObservation::Row { point, values }
            }
            "step" => {
                let (action, address) = elements.text().zip(elements.text()).ok_or(MALFORMED)?;
                let (tree, text) = elements.texts().zip(elements.text()).ok_or(MALFORMED)?;
                AgentObservation::Step { action, address, tree, text }
            }
            "out" => {
                let (stream, text) = elements.text().zip(elements.text()).ok_or(MALFORMED)?;
                AgentObservation::Out { stream, text }
            }
            "gap" => {
                let (layer, why) = elements.text().zip(elements.text()).ok_or(MALFORMED)?;
                AgentObservation::Gap { layer: Layer::from_word(&layer).ok_or("names no layer")?, why }
            }
            _ => return Ok(None),
        }))
    }

    fn bounded(&self) -> Result<(), &'static str> {
        let most = self.files.len().max(self.sites.len()).max(self.points.len());
        if most > MAX_NUMBERED { Err("numbers one thing too many") } else { Ok(()) }
    }
}

/// The remaining elements of a line.
struct LineElements(std::vec::IntoIter<Json>);

impl LineElements {
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
            let mut two = LineElements(two.into_iter());
            Some((two.text()?, Value::of(two.0.next()?)?))
        }
        _ => None,
    }
}

fn branch(json: Json) -> Option<(u32, String)> {
    let Json::Array(two) = json else { return None };
    let mut two = LineElements(two.into_iter());
    let (line, way) = two.number().zip(two.text())?;
    (two.0.next().is_none() && line <= MAX_LINE_NUMBER).then_some((line, way))
}

fn range(json: Json) -> Option<(u32, u32)> {
    let two = json.as_array().filter(|two| two.len() == 2)?;
    let (first, last) = (number(&two[0])?, number(&two[1])?);
    (first <= last && last <= MAX_LINE_NUMBER).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<AgentObservation>, String> {
        let mut observations = Vec::new();
        read(text.as_bytes(), |one| observations.push(one)).map_err(|why| why.to_string()).map(|()| observations)
    }

    #[test]
    fn all_observations_of_the_contract_are_read() {
        let observations = all(concat!(
            "[\"format\", 1]\n",
            "[\"file\", 0, \"tests/test_cart.py\"]\n",
            "[\"site\", 3, 0, \"test_total\", \"cart.total == 3\", 0, 12]\n",
            "[\"assert\", 3, \"held\", [[\"cart.total\", 3], [\"cart\", {\"type\": \"Cart\", \"size\": 2}]]]\n",
            "[\"lines\", 0, [[1, 4], [9, 9]]]\n",
            "[\"branches\", 0, [[4, \"branch 1, to line 9\"]]]\n",
            "[\"point\", 0, 0, \"Cart.add\", \"enter\", [\"n\", \"price\"]]\n",
            "[\"row\", 0, [1, 2.5]]\n",
            "[\"step\", \"click\", \"http://localhost/\", [\"- heading\"], \"Cart\"]\n",
            "[\"out\", \"stdout\", \"hello\\n\"]\n",
            "[\"something new\", 1]\n",
            "[\"gap\", \"code\", \"a C extension\"]\n",
            "[\"row\", 0, [1"
        ))
        .unwrap();
        assert_eq!(observations.len(), 8);
        let AgentObservation::Assert { site, how, saw } = &observations[0] else { panic!("{observations:?}") };
        assert_eq!((&*site.file, site.line, &**how), ("tests/test_cart.py", 12, "held"));
        assert_eq!(saw[0], ("cart.total".to_owned(), Value::Int(3)));
        assert_eq!(saw[1].1, Value::Other { kind: "Cart".into(), size: Some(2), text: None });
        assert_eq!(
            observations[1],
            AgentObservation::Lines { file: "tests/test_cart.py".into(), ranges: vec![(1, 4), (9, 9)] }
        );
        let taken = vec![(4, "branch 1, to line 9".to_owned())];
        assert_eq!(observations[2], AgentObservation::Branches { file: "tests/test_cart.py".into(), taken });
        assert_eq!(observations[4], AgentObservation::Row { point: 0, values: vec![Value::Int(1), Value::Float(2.5)] });
        assert_eq!(observations[7], AgentObservation::Gap { layer: Layer::Code, why: "a C extension".to_owned() });
    }

    #[test]
    fn malformed_lines_are_errors() {
        let after = |line: &str| all(&format!("[\"format\", 1]\n[\"file\", 0, \"a\"]\n{line}\n")).unwrap_err();
        assert_eq!(all("[\"format\", 2]\n").unwrap_err(), "line 1 does not say that this is format 1");
        assert_eq!(all("hello\n").unwrap_err(), "line 1 is not a JSON array");
        assert_eq!(after("[\"lines\", 7, []]"), "line 3 names a file without number");
        assert_eq!(after("[\"lines\", 0, [[4, 1]]]"), "line 3 has lines of code that cannot be");
        assert_eq!(after("[\"lines\", 0, [[1, 90000000]]]"), "line 3 is one line of code too many");
        assert_eq!(after("[\"lines\", 0, [[1, 4000000000]]]"), "line 3 has lines of code that cannot be");
        assert_eq!(after("[\"branches\", 7, []]"), "line 3 names a file without number");
        assert_eq!(after("[\"branches\", 0, [[4]]]"), "line 3 has branches that cannot be");
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
    fn an_empty_or_cut_file_has_no_observations() {
        assert_eq!(all(""), Ok(Vec::new()));
        assert_eq!(all("[\"form"), Ok(Vec::new()));
    }
}
