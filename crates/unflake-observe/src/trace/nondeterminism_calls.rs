//! Calls whose result varies from run to run, found in the text of a line. No instrument sees the
//! calls that native code makes out of the project.

use unflake_model::Cause;

/// The calls of one language that vary, as words in a line of source.
#[derive(Debug, Clone, Copy)]
pub struct CallTable {
    /// Extensions of the language's source files.
    pub extensions: &'static [&'static str],
    /// Lines with this word declare a function: types in its signature say nothing of what it does.
    pub declares: Option<&'static str>,
    /// Words by cause, the likeliest cause first.
    pub calls: &'static [(Cause, &'static [&'static str])],
}

impl CallTable {
    /// The table for a source file.
    pub(crate) fn of<'a>(tables: &'a [CallTable], file: &str) -> Option<&'a CallTable> {
        let extension = file.rsplit('.').next().unwrap_or_default();
        tables.iter().find(|table| table.extensions.contains(&extension))
    }

    /// The first of these lines with such a call: its number, the likeliest cause and the word.
    pub(crate) fn first<'a>(
        &self,
        lines: impl IntoIterator<Item = (u32, &'a str)>,
    ) -> Option<(u32, Cause, &'static str)> {
        lines.into_iter().find_map(|(at, text)| self.call_in(text).map(|(cause, word)| (at, cause, word)))
    }

    /// The first such call in one line.
    pub fn call_in(&self, text: &str) -> Option<(Cause, &'static str)> {
        let code = text.split("//").next().unwrap_or_default();
        if self.declares.is_some_and(|word| has_word(code, word)) {
            return None;
        }
        let named = |words: &&'static [&'static str]| words.iter().copied().find(|word| has_word(code, word));
        self.calls.iter().find_map(|(cause, words)| Some((*cause, named(words)?)))
    }
}

/// Whether the text has this as a whole word: `rand(` is not in `operand(`.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let begins_with_letter = word.starts_with(is_letter);
    text.match_indices(word).any(|(at, _)| !begins_with_letter || !text[..at].ends_with(is_letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: CallTable = CallTable {
        extensions: &["rs"],
        declares: Some("fn "),
        calls: &[
            (Cause::Randomness, &["rand(", "RandomState"]),
            (Cause::Time, &["SystemTime::now"]),
            (Cause::UnorderedCollection, &["HashMap"]),
        ],
    };

    #[test]
    fn a_line_is_judged_by_the_calls_in_its_text() {
        let of = |text: &str| RUST.call_in(text).map(|(cause, _)| cause);
        assert_eq!(of("let now = SystemTime::now();"), Some(Cause::Time));
        assert_eq!(of("let seed = RandomState::new().build_hasher().finish();"), Some(Cause::Randomness));
        assert_eq!(of("let total = operand(3); // SystemTime::now"), None);
        assert_eq!(of("pub fn tags(text: &str) -> HashMap<String, u32> {"), None);
    }

    #[test]
    fn files_of_other_languages_have_no_table() {
        assert!(CallTable::of(&[RUST], "src/lib.rs").is_some());
        assert!(CallTable::of(&[RUST], "shop/cart.other").is_none());
    }
}
