//! Interprets the text of a value: a number, or the items of a container.

use std::cmp::Ordering;

/// The number that a text denotes.
pub(crate) fn number(text: &str) -> Option<f64> {
    let first = text.chars().next()?;
    // `inf` and `nan` parse as numbers but are words here.
    (first.is_ascii_digit() || first == '-')
        .then(|| text.parse().ok())
        .flatten()
        .filter(|number: &f64| number.is_finite())
}

/// Items of a container as far as its text shows them, and their total number.
pub(crate) struct Items<'a> {
    pub(crate) shown: Vec<&'a str>,
    pub(crate) length: usize,
}

/// Parses `[1, 2, 3]`, `{'a': 1, … 7 items}`, `(9 items)`. A text without brackets is no container.
pub(crate) fn items(text: &str) -> Option<Items<'_>> {
    let inside = [('[', ']'), ('(', ')'), ('{', '}')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))?;
    let mut shown = split(inside);
    let counted = shown.last().and_then(|last| {
        let words = last.strip_suffix(" items")?;
        words.strip_prefix("… ").unwrap_or(words).parse().ok()
    });
    if counted.is_some() {
        shown.pop();
    }
    shown.retain(|item| !item.is_empty());
    let length = counted.unwrap_or(shown.len());
    Some(Items { shown, length })
}

/// Splits at commas outside nested brackets and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[' | '(' | '{') => depth += 1,
            (None, ']' | ')' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// Natural order: numbers inside texts compare by value.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    if let (Some(one), Some(other)) = (number(one), number(other)) {
        return one.total_cmp(&other);
    }
    let (mut one, mut other) = (one, other);
    loop {
        let (Some(a), Some(b)) = (one.chars().next(), other.chars().next()) else {
            return one.len().cmp(&other.len());
        };
        if a.is_ascii_digit() && b.is_ascii_digit() {
            let (first, second) = (digits(one), digits(other));
            let (plain_first, plain_second) = (first.trim_start_matches('0'), second.trim_start_matches('0'));
            let order = plain_first.len().cmp(&plain_second.len()).then(plain_first.cmp(plain_second));
            if order != Ordering::Equal {
                return order;
            }
            (one, other) = (&one[first.len()..], &other[second.len()..]);
        } else if a == b {
            (one, other) = (&one[a.len_utf8()..], &other[b.len_utf8()..]);
        } else {
            return a.cmp(&b);
        }
    }
}

fn digits(text: &str) -> &str {
    &text[..text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_distinguished_from_words() {
        assert_eq!(number("0.93"), Some(0.93));
        assert_eq!(number("-4"), Some(-4.0));
        assert_eq!((number("inf"), number("True"), number("'4'"), number("")), (None, None, None, None));
    }

    #[test]
    fn containers_have_items_and_a_length() {
        let parsed = |text: &str| items(text).map(|items| (items.shown.join("|"), items.length));
        assert_eq!(parsed("[1, (2, 3), 'a, b']"), Some(("1|(2, 3)|'a, b'".into(), 3)));
        assert_eq!(parsed("{'a': 1, … 7 items}"), Some(("'a': 1".into(), 7)));
        assert_eq!(parsed("(9 items)"), Some((String::new(), 9)));
        assert_eq!(parsed("('x',)"), Some(("'x'".into(), 1)));
        assert_eq!(parsed("[]"), Some((String::new(), 0)));
        assert_eq!(parsed("'[1]'"), None);
        assert_eq!(parsed("[\"it's\", '\\'']"), Some(("\"it's\"|'\\''".into(), 2)));
    }

    #[test]
    fn texts_compare_by_the_numbers_in_them() {
        assert_eq!(compare("('127.0.0.1', 9999)", "('127.0.0.1', 43211)"), Ordering::Less);
        assert_eq!(compare("10", "9.5"), Ordering::Greater);
        assert_eq!(compare("a7", "a07"), Ordering::Equal);
        assert_eq!(compare("a7b", "a7"), Ordering::Greater);
        assert_eq!(compare("é1", "é1"), Ordering::Equal);
    }
}
