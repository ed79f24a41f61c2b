//! Chooses the values to force at a located line: one of failing runs and one of passing runs.

use unflake_model::{Location, ValueSplit};

/// Separates the ends of a range of numbers.
const RANGE: &str = " – ";

/// A variable, and what to set it to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenValues {
    pub(crate) name: String,
    pub(crate) failing: String,
    pub(crate) passing: String,
}

/// None: the difference is not a value of a variable, or its text does not say what the value is.
pub(crate) fn chosen_values(location: &Location) -> Option<ChosenValues> {
    let ValueSplit { name, failing, passing } = location.value.as_ref()?;
    let is_variable = name.split('.').all(is_identifier) && name != "returns";
    let (failing, passing) = (sides(failing), sides(passing));
    let (failing, passing) = match (range(&failing), range(&passing)) {
        // Numbers on either side of a threshold: those that are furthest apart.
        (Some((low, high)), Some((least, most))) if number(low)? > number(most)? => (high, least),
        (Some((low, high)), Some((least, most))) if number(high)? < number(least)? => (low, most),
        _ => {
            let one = failing.iter().copied().find(|value| is_literal(value) && !passing.contains(value));
            let other = passing.iter().copied().find(|value| is_literal(value) && !failing.contains(value));
            (one?, other?)
        }
    };
    let (failing, passing) = (failing.to_owned(), passing.to_owned());
    is_variable.then(|| ChosenValues { name: name.clone(), failing, passing })
}

/// Single values; a range has two.
fn sides(values: &[String]) -> Vec<&str> {
    values.iter().flat_map(|value| value.split(RANGE)).map(str::trim).collect()
}

/// The smallest and the largest, where all are numbers.
fn range<'a>(values: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let mut numbers: Vec<(f64, &str)> = Vec::new();
    for value in values {
        numbers.push((number(value)?, value));
    }
    numbers.sort_by(|one, other| one.0.total_cmp(&other.0));
    Some((numbers.first()?.1, numbers.last()?.1))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn is_identifier(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// Whether a text is a whole value: a number, a quoted text, a constant or a container of these.
fn is_literal(text: &str) -> bool {
    let starts = |first: char| first.is_ascii_digit() || "-'\"[({".contains(first);
    let is_constant = matches!(text, "True" | "False" | "None" | "true" | "false" | "null");
    let is_cut = text.contains(['…', '<', '≥', '≤', '\n']) || text.contains("...");
    !is_cut && (is_constant || text.starts_with(starts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{DivergenceKind, SourceLine};

    #[track_caller]
    fn check(name: &str, failing: &[&str], passing: &[&str], expected: Option<(&str, &str)>) {
        let values = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let location = Location {
            line: SourceLine { file: "a.py".into(), line: 1, function: "f".into() },
            how: DivergenceKind::Value,
            failing: 5,
            passing: 0,
            chance: 0.0,
            sentence: String::new(),
            value: Some(ValueSplit { name: name.to_owned(), failing: values(failing), passing: values(passing) }),
            rejected: false,
        };
        let chosen = chosen_values(&location);
        let chosen = chosen.as_ref().map(|chosen| (chosen.failing.as_str(), chosen.passing.as_str()));
        assert_eq!(chosen, expected);
    }

    #[test]
    fn numbers_are_taken_far_from_the_threshold() {
        check("jitter", &["0.93 – 0.99"], &["0.01 – 0.92"], Some(("0.99", "0.01")));
        check("left", &["-3 – 0"], &["1 – 7"], Some(("-3", "7")));
        check("n", &["0"], &["1", "2"], Some(("0", "2")));
    }

    #[test]
    fn words_are_taken_from_one_side_only() {
        check("winner", &["'b'", "'a'"], &["'a'"], None);
        check("winner", &["'a'", "'b'"], &["'a'", "'c'"], Some(("'b'", "'c'")));
        check("self.ready", &["False"], &["True"], Some(("False", "True")));
    }

    #[test]
    fn what_cannot_be_set_is_left_alone() {
        check("returns", &["1"], &["2"], None);
        check("len(x)", &["1"], &["2"], None);
        check("x", &["<object>"], &["<other>"], None);
        check("x", &["[1, … 7 items]"], &["[]"], None);
        check("x", &["≥ 0.3 in 9 of 11"], &["≥ 0.3 in 1 of 30"], None);
    }
}
