//! "Did you mean": the names nearest to one that does not exist.

/// The smallest similarity, from 0 to 1, at which a name is suggested.
const SIMILAR: f64 = 0.65;
/// The largest number of suggestions.
const MOST: usize = 3;

/// A question that names the nearest of the known names. None where none is similar.
pub(crate) fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    question(nearest(wanted, known, |name| similarity(wanted, name)))
}

/// The nearest of the known names.
pub(crate) fn nearest_to<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(wanted, known, |name| similarity(wanted, name)).first().copied()
}

/// [`did_you_mean`] for tests: the typed text may be a whole name or its last part.
pub(crate) fn did_you_mean_test<'a>(wanted: &str, tests: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let best = |test: &str| similarity(wanted, test).max(similarity(wanted, last_part(test)));
    question(nearest(wanted, tests, best))
}

fn similarity(one: &str, other: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(&one.to_lowercase(), &other.to_lowercase())
}

/// The function of a test without its parameters.
fn last_part(test: &str) -> &str {
    let name = test.split('[').next().unwrap_or(test);
    name.rsplit(['#', '/', ':', '.']).next().unwrap_or(name)
}

fn nearest<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    similarity: impl Fn(&str) -> f64,
) -> Vec<&'a str> {
    let mut ranked: Vec<(f64, &str)> =
        known.into_iter().filter(|name| *name != wanted).map(|name| (similarity(name), name)).collect();
    ranked.retain(|(similarity, _)| *similarity >= SIMILAR);
    ranked.sort_by(|(one, name), (other, than)| other.total_cmp(one).then_with(|| name.cmp(than)));
    ranked.into_iter().take(MOST).map(|(_, name)| name).collect()
}

fn question(names: Vec<&str>) -> Option<String> {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", unflake_report::one_line(name))).collect();
    match &names[..] {
        [] => None,
        [name] => Some(format!("did you mean {name}?")),
        [first @ .., last] => Some(format!("did you mean {} or {last}?", first.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let known = ["fresh", "fresh-by", "flaky-result", "jobs"];
        assert_eq!(did_you_mean("frseh", known).as_deref(), Some("did you mean `fresh`?"));
        assert_eq!(did_you_mean("fresh-b", known).as_deref(), Some("did you mean `fresh-by` or `fresh`?"));
        assert_eq!(did_you_mean("colour", known), None);
    }

    #[test]
    fn tests_are_found_by_their_last_part() {
        let tests = ["tests/test_cart.py::test_total[1]", "tests/test_cart.py::test_empty", "org.shop.CartTest#addsUp"];
        let asked = |name: &str| did_you_mean_test(name, tests);
        assert_eq!(asked("test_totl").as_deref(), Some("did you mean `tests/test_cart.py::test_total[1]`?"));
        assert_eq!(asked("adsUp").as_deref(), Some("did you mean `org.shop.CartTest#addsUp`?"));
        assert_eq!(asked("something_else_entirely"), None);
    }
}
