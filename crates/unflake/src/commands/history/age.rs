//! Ages on the command line: `12h`, `90d` or `26w`.

use unflake_model::Timestamp;

use crate::error::CommandError;
use crate::history::recorder::now;

/// The time that is so long ago.
pub(crate) fn ago(option: &str, text: &str) -> Result<Timestamp, CommandError> {
    let error =
        || CommandError::usage(format!("{option}: `{text}` is not an age")).hint("give one such as 12h, 90d or 26w");
    let age = micros(text).ok_or_else(error)?;
    now().0.checked_sub(age).map(Timestamp).ok_or_else(error)
}

fn micros(text: &str) -> Option<i64> {
    let (number, hours) = match text.char_indices().next_back()? {
        (at, 'h') => (&text[..at], 1),
        (at, 'd') => (&text[..at], 24),
        (at, 'w') => (&text[..at], 7 * 24),
        _ => return None,
    };
    let number: i64 = number.parse().ok().filter(|number| *number >= 0)?;
    number.checked_mul(hours * 3600 * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit() {
        assert_eq!(micros("2h"), Some(7_200_000_000));
        assert_eq!(micros("1d"), micros("24h"));
        assert_eq!(micros("1w"), micros("7d"));
        assert_eq!(micros("0d"), Some(0));
        for text in ["", "d", "7", "-1d", "1.5d", "9999999999999999d", "1é"] {
            assert_eq!(micros(text), None, "{text}");
        }
    }
}
