//! Source into tokens, without comments and spacing. Whatever is odd ends in None: a guess here would hide a change.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, a keyword or a number.
    Word,
    /// A string with prefix and quotes. One that is interpolated is one token, to the last quote.
    Text,
    Operator,
    /// The end of a logical line.
    Newline,
    Indent,
    Dedent,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Counted from 1.
    pub(super) line: u32,
    pub(super) last_line: u32,
    /// Inside how many brackets it stands. A bracket is outside of itself.
    pub(super) nesting: usize,
}

const OPERATORS: [&str; 25] = [
    "**=", "//=", ">>=", "<<=", "...", "!=", "==", "<=", ">=", "->", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "@=", ":=", "**", "//", "<<", ">>", "<>",
];
const SINGLE: &[u8] = b"+-*/%&|^~<>=.,:;@";
const PREFIXES: [&str; 12] = ["r", "u", "b", "br", "rb", "f", "fr", "rf", "t", "tr", "rt", ""];
/// How deep interpolated strings may stand in each other.
const DEEPEST: usize = 50;

/// All tokens of a source whose lines end in `\n`.
pub(super) fn tokens(source: &str) -> Option<Vec<Token<'_>>> {
    let mut lexer = Lexer {
        source,
        bytes: source.as_bytes(),
        at: 0,
        line: 1,
        open: Vec::new(),
        indents: vec![(0, 0)],
        tokens: Vec::new(),
    };
    while lexer.at < lexer.bytes.len() {
        lexer.logical_line()?;
    }
    while lexer.indents.pop().is_some_and(|indent| indent != (0, 0)) {
        lexer.mark(Kind::Dedent);
    }
    Some(lexer.tokens)
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    open: Vec<u8>,
    /// Columns with tabs to the next multiple of eight, and with tabs as one. Where the two disagree on what is deeper,
    /// the language does not know either.
    indents: Vec<(u32, u32)>,
    tokens: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn starts_with(&self, text: &[u8]) -> bool {
        self.bytes[self.at..].starts_with(text)
    }

    fn mark(&mut self, kind: Kind) {
        self.tokens.push(Token { kind, text: "", line: self.line, last_line: self.line, nesting: 0 });
    }

    /// One step, over a line end or any other byte.
    fn step(&mut self) {
        if self.peek(0) == b'\n' {
            self.line += 1;
        }
        self.at += 1;
    }

    fn logical_line(&mut self) -> Option<()> {
        let (mut column, mut narrow) = (0u32, 0u32);
        loop {
            match self.peek(0) {
                b' ' => (column, narrow) = (column + 1, narrow + 1),
                b'\t' => (column, narrow) = ((column / 8 + 1) * 8, narrow + 1),
                b'\x0c' => (column, narrow) = (0, 0),
                _ => break,
            }
            self.at += 1;
        }
        match self.peek(0) {
            b'#' => self.comment()?,
            b'\\' => return None,
            _ => {}
        }
        if self.at == self.bytes.len() {
            return Some(());
        }
        if self.peek(0) == b'\n' {
            self.step();
            return Some(());
        }
        self.indent(column, narrow)?;
        loop {
            if self.at == self.bytes.len() {
                break;
            }
            match self.peek(0) {
                b'\n' if self.open.is_empty() => break,
                b' ' | b'\t' | b'\x0c' | b'\n' => self.step(),
                b'#' => self.comment()?,
                b'\\' => self.continued()?,
                _ => self.token()?,
            }
        }
        if !self.open.is_empty() {
            return None;
        }
        self.mark(Kind::Newline);
        if self.at < self.bytes.len() {
            self.step();
        }
        Some(())
    }

    fn indent(&mut self, column: u32, narrow: u32) -> Option<()> {
        let &(wide_now, narrow_now) = self.indents.last()?;
        if column > wide_now {
            if narrow <= narrow_now {
                return None;
            }
            self.indents.push((column, narrow));
            self.mark(Kind::Indent);
            return Some(());
        }
        while self.indents.last()?.0 > column {
            self.indents.pop();
            self.mark(Kind::Dedent);
        }
        (*self.indents.last()? == (column, narrow)).then_some(())
    }

    fn comment(&mut self) -> Option<()> {
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
        Some(())
    }

    /// A backslash, which joins two lines or is wrong. At the very end there is nothing to join.
    fn continued(&mut self) -> Option<()> {
        if self.peek(1) != b'\n' || self.at + 2 >= self.bytes.len() {
            return None;
        }
        self.at += 1;
        self.step();
        Some(())
    }

    fn token(&mut self) -> Option<()> {
        let (start, line, nesting) = (self.at, self.line, self.open.len());
        let mut nested = nesting;
        let byte = self.peek(0);
        let kind = if is_word(byte) || byte == b'.' && self.peek(1).is_ascii_digit() {
            if self.word() { Kind::Text } else { Kind::Word }
        } else if byte == b'"' || byte == b'\'' {
            Kind::Text
        } else {
            self.operator()?;
            nested = nesting.min(self.open.len());
            Kind::Operator
        };
        if kind == Kind::Text {
            self.string(&self.source[start..self.at], 0)?;
        }
        let text = &self.source[start..self.at];
        self.tokens.push(Token { kind, text, line, last_line: self.line, nesting: nested });
        Some(())
    }

    /// Takes a name or a number, and says whether it is the prefix of a string that follows at once.
    fn word(&mut self) -> bool {
        let start = self.at;
        let number = self.peek(0).is_ascii_digit() || self.peek(0) == b'.';
        let radix = self.peek(0) == b'0' && self.peek(1).is_ascii_alphabetic();
        while is_word(self.peek(0)) || number && self.peek(0) == b'.' {
            let exponent = number && !radix && matches!(self.peek(0), b'e' | b'E');
            self.at += 1;
            if exponent && matches!(self.peek(0), b'+' | b'-') && self.peek(1).is_ascii_digit() {
                self.at += 1;
            }
        }
        matches!(self.peek(0), b'"' | b'\'') && is_prefix(&self.source[start..self.at])
    }

    fn operator(&mut self) -> Option<()> {
        let byte = self.peek(0);
        match byte {
            b'(' | b'[' | b'{' => self.open.push(byte),
            b')' | b']' | b'}' => {
                if self.open.pop()? != opening(byte) {
                    return None;
                }
            }
            _ => {
                if let Some(longest) = OPERATORS.iter().find(|one| self.starts_with(one.as_bytes())) {
                    self.at += longest.len();
                    return Some(());
                }
                if !SINGLE.contains(&byte) {
                    return None;
                }
            }
        }
        self.at += 1;
        Some(())
    }

    /// From the opening quote, whose prefix has been taken, to behind the closing one.
    fn string(&mut self, prefix: &str, depth: usize) -> Option<()> {
        let quote = self.peek(0);
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        let end: &[u8] = &[quote; 3][..if triple { 3 } else { 1 }];
        self.at += end.len();
        let has = |one: u8| prefix.bytes().any(|byte| byte.to_ascii_lowercase() == one);
        let (interpolated, raw) = (has(b'f') || has(b't'), has(b'r'));
        loop {
            if self.at >= self.bytes.len() {
                return None;
            }
            if self.starts_with(end) {
                self.at += end.len();
                return Some(());
            }
            match self.peek(0) {
                b'\n' if !triple => return None,
                b'\\' if interpolated && matches!(self.peek(1), b'{' | b'}') => self.at += 1,
                b'\\' if interpolated && !raw && self.peek(1) == b'N' && self.peek(2) == b'{' => {
                    while !matches!(self.peek(0), b'}' | b'\n' | b'"' | b'\'' | 0) {
                        self.at += 1;
                    }
                    if self.peek(0) != b'}' {
                        return None;
                    }
                    self.at += 1;
                }
                b'\\' => {
                    self.at += 1;
                    self.step();
                }
                b'{' | b'}' if interpolated && self.peek(1) == self.peek(0) => self.at += 2,
                b'{' if interpolated => self.field(end, depth + 1)?,
                b'}' if interpolated => return None,
                _ => self.step(),
            }
        }
    }

    /// A replacement field, from its opening brace to behind its closing one.
    fn field(&mut self, end: &[u8], depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        self.at += 1;
        let mut open = Vec::new();
        loop {
            match self.peek(0) {
                0 => return None,
                b'#' => self.comment()?,
                b'\\' => self.continued()?,
                byte @ (b'(' | b'[' | b'{') => {
                    open.push(byte);
                    self.at += 1;
                }
                b'}' if open.is_empty() => {
                    self.at += 1;
                    return Some(());
                }
                byte @ (b')' | b']' | b'}') => {
                    if open.pop()? != opening(byte) {
                        return None;
                    }
                    self.at += 1;
                }
                b':' if open.is_empty() => return self.format(end, depth),
                b'"' | b'\'' => self.string("", depth)?,
                byte if is_word(byte) => {
                    let start = self.at;
                    if self.word() {
                        self.string(&self.source[start..self.at], depth)?;
                    }
                }
                _ => self.step(),
            }
        }
    }

    /// What follows the colon of a replacement field, to behind the closing brace.
    fn format(&mut self, end: &[u8], depth: usize) -> Option<()> {
        self.at += 1;
        loop {
            if self.at >= self.bytes.len() || self.starts_with(end) || self.starts_with(b"{{") {
                return None;
            }
            match self.peek(0) {
                b'\n' if end.len() == 1 => return None,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                b'{' => self.field(end, depth + 1)?,
                b'\\' => return None,
                _ => self.step(),
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_prefix(word: &str) -> bool {
    word.len() <= 2 && PREFIXES.contains(&word.to_ascii_lowercase().as_str())
}

fn opening(closing: u8) -> u8 {
    match closing {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    }
}
