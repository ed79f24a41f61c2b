//! The words of a Java source. What is not certain to be read as a compiler reads it is refused as a whole.

/// A piece of the source that is neither layout nor a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// Counted from 1.
    pub(crate) line: u32,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or a keyword.
    Word,
    /// A number, a text, a character.
    Literal,
    Symbol,
}

/// The longest first.
const SYMBOLS: [&str; 25] = [
    ">>>=", "<<=", ">>=", ">>>", "...", "->", "::", "++", "--", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=",
    "/=", "&=", "|=", "^=", "%=", "<<", ">>",
];

/// All of them in their order. None: something in it does not end, or is written so that it could be read in two ways.
pub(crate) fn tokens(source: &str) -> Option<Vec<Token<'_>>> {
    if hides_structure(source) {
        return None;
    }
    let (mut tokens, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(first) = rest.chars().next() {
        let (length, kind) = match first {
            _ if first.is_whitespace() || first == '\u{1a}' => (first.len_utf8(), None),
            _ if rest.starts_with("//") => (rest.find(['\n', '\r']).unwrap_or(rest.len()), None),
            _ if rest.starts_with("/*") => (rest[2..].find("*/")? + 4, None),
            _ if rest.starts_with("\"\"\"") => (quoted(rest, "\"\"\"", true)?, Some(Kind::Literal)),
            '"' => (quoted(rest, "\"", false)?, Some(Kind::Literal)),
            '\'' => (quoted(rest, "'", false)?, Some(Kind::Literal)),
            _ if first.is_ascii_digit() => (number(rest), Some(Kind::Literal)),
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => (number(rest), Some(Kind::Literal)),
            _ if is_of_name(first) => (name(rest), Some(Kind::Word)),
            // Part of a name that is written by its number.
            '\\' => return None,
            _ => (symbol(rest, first), Some(Kind::Symbol)),
        };
        let (text, after) = rest.split_at(length);
        tokens.extend(kind.map(|kind| Token { text, line, kind }));
        // A carriage return and what it stands before are one end of a line.
        let split = text.ends_with('\r') && after.starts_with('\n');
        line += ends_of_lines(text) - u32::from(split);
        rest = after;
    }
    Some(tokens)
}

/// Whether a character at which texts, comments or lines end is written by its number, or may be.
fn hides_structure(source: &str) -> bool {
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        let after = rest[at..].trim_start_matches('\\');
        let backslashes = rest.len() - at - after.len();
        // Two of them are one that is meant as such.
        if backslashes % 2 == 1 && after.starts_with('u') {
            let digits = after.trim_start_matches('u').get(..4);
            let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            if number.is_none_or(|number| b"\n\r\"'\\*/".iter().any(|one| u32::from(*one) == number)) {
                return true;
            }
        }
        rest = after;
    }
    false
}

fn ends_of_lines(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let ends = |(at, byte): (usize, &u8)| *byte == b'\r' || *byte == b'\n' && (at == 0 || bytes[at - 1] != b'\r');
    bytes.iter().enumerate().filter(|one| ends(*one)).count() as u32
}

/// How long a text is that begins and ends with this.
fn quoted(rest: &str, mark: &str, may_have_lines: bool) -> Option<usize> {
    let mut at = mark.len();
    while !rest[at..].starts_with(mark) {
        let next = rest[at..].chars().next()?;
        if !may_have_lines && (next == '\n' || next == '\r') {
            return None;
        }
        at += next.len_utf8();
        if next == '\\' {
            at += rest[at..].chars().next()?.len_utf8();
        }
    }
    Some(at + mark.len())
}

fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let exponents = if rest.starts_with("0x") || rest.starts_with("0X") { b"pP" } else { b"eE" };
    let belongs = |at: usize| match bytes[at] {
        b'+' | b'-' => exponents.contains(&bytes[at - 1]),
        byte => byte == b'.' || byte == b'_' || byte.is_ascii_alphanumeric(),
    };
    (1..bytes.len()).find(|at| !belongs(*at)).unwrap_or(bytes.len())
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$' || !letter.is_ascii() && !letter.is_whitespace()
}

fn name(rest: &str) -> usize {
    rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len())
}

fn symbol(rest: &str, first: char) -> usize {
    SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)).map_or(first.len_utf8(), |symbol| symbol.len())
}

/// In one line, the same for whatever layout they were written in.
pub(crate) fn printed(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    // How deep in type arguments.
    let mut types = 0usize;
    let mut spaced = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let opens = token.text == "<" && before.is_some_and(is_of_types);
        let closes = types > 0 && token.text.bytes().all(|byte| byte == b'>');
        let is_binary = is_operator(token) && !opens && !closes && types == 0 && before.is_some_and(ends_operand);
        let parts_words = token.kind != Kind::Symbol
            && before.is_some_and(|before| before.kind != Kind::Symbol || before.text == ")");
        if !text.is_empty() && (spaced || is_binary || parts_words) {
            text.push(' ');
        }
        spaced = is_binary || matches!(token.text, "," | ";" | "->") || closes && next_is_word(tokens, at);
        types = if opens { types + 1 } else { types.saturating_sub(if closes { token.text.len() } else { 0 }) };
        text.extend(token.text.chars().map(|one| if one.is_control() { ' ' } else { one }));
    }
    text
}

fn next_is_word(tokens: &[Token<'_>], at: usize) -> bool {
    // `List<String> all`, but `Foo.<String>of()`.
    let word = tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Word);
    word && tokens.get(at + 2).is_none_or(|behind| behind.text != "(")
}

fn is_of_types(before: &Token<'_>) -> bool {
    // `Names` and `T`, but not `MOST`.
    let is_type =
        |name: &str| name.starts_with(char::is_uppercase) && (name.len() == 1 || name.contains(char::is_lowercase));
    before.text == "." || before.kind == Kind::Word && is_type(before.text)
}

fn ends_operand(before: &Token<'_>) -> bool {
    before.kind != Kind::Symbol && before.text != "return" || matches!(before.text, ")" | "]")
}

fn is_operator(token: &Token<'_>) -> bool {
    let plain = ["(", ")", "[", "]", "{", "}", ",", ";", ".", "@", "::", "!", "~", "++", "--", "..."];
    token.kind == Kind::Symbol && !plain.contains(&token.text)
}

#[cfg(test)]
mod tests;
