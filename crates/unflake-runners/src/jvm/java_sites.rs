//! Where assertions stand in a Java source, and names for them that outlive moved and reformatted code. What is an assertion is known by
//! its name alone; whether it is one shows when it is called.

use std::collections::HashMap;

use serde::Serialize;

use crate::jvm::java_tokens::{Kind, Token, printed, tokens};

/// An assertion of the sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Site {
    /// Relative to the root.
    pub(crate) file: String,
    /// Its class and its method: `CartTest$Inner.total`.
    pub(crate) function: String,
    pub(crate) expression: String,
    /// Which of the same expressions of that method it is. Methods of one name count together.
    pub(crate) ordinal: u32,
    /// The one that a stack shows for the call.
    pub(crate) line: u32,
    /// A hash of what the method does.
    pub(crate) body: String,
    /// The method that is called.
    #[serde(skip)]
    pub(crate) called: String,
}

/// An expression is a part of a name. A longer one is shortened in the same way everywhere.
const MOST: usize = 1000;
/// One that has more words, or more parts, is no assertion that a person wrote.
const MOST_WORDS: usize = 2000;
const MOST_PARTS: usize = 100;
/// Classes in classes; more are not written by people.
const DEEPEST: usize = 100;

/// All of a file. None where it is not certain how it is to be read.
pub(crate) fn sites(file: &str, source: &str) -> Option<Vec<Site>> {
    let tokens = tokens(source)?;
    let partners = partners(&tokens)?;
    let mut reader = Reader { file, tokens: &tokens, partners: &partners, ordinals: HashMap::new(), sites: Vec::new() };
    reader.declarations(0, tokens.len(), "", 0)?;
    Some(reader.sites)
}

/// For every bracket the place of the other one.
fn partners(tokens: &[Token<'_>]) -> Option<Vec<usize>> {
    let (mut partners, mut open) = (vec![0; tokens.len()], Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => {
                let begin: usize = open.pop()?;
                if !matches!((tokens[begin].text, token.text), ("(", ")") | ("[", "]") | ("{", "}")) {
                    return None;
                }
                (partners[begin], partners[at]) = (at, begin);
            }
            _ => {}
        }
    }
    open.is_empty().then_some(partners)
}

struct Reader<'a> {
    file: &'a str,
    tokens: &'a [Token<'a>],
    partners: &'a [usize],
    ordinals: HashMap<(String, String), u32>,
    sites: Vec<Site>,
}

impl Reader<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Word)
    }

    /// What is declared here: in a file, or in the body of a class with this name and a `$` behind it.
    fn declarations(&mut self, mut at: usize, end: usize, class: &str, depth: usize) -> Option<()> {
        // The brackets that a method's name stands before.
        let mut parameters = None;
        while at < end {
            if let Some(name) = self.declared_class(at) {
                let name = format!("{class}{}", self.text(name));
                let body = self.next(at, end, "{");
                if body >= end || depth >= DEEPEST {
                    return None;
                }
                self.declarations(body + 1, self.partners[body], &format!("{name}$"), depth + 1)?;
                (at, parameters) = (self.partners[body] + 1, None);
                continue;
            }
            match self.text(at) {
                "@" => at = self.behind_annotation(at),
                "(" => {
                    parameters = parameters.or(Some(at));
                    at = self.partners[at] + 1;
                }
                "[" => at = self.partners[at] + 1,
                "=" => {
                    at = self.next(at, end, ";");
                    parameters = None;
                }
                ";" => (at, parameters) = (at + 1, None),
                "{" => {
                    let method = parameters.take().filter(|open| *open > 0 && self.is_word(open - 1));
                    if let Some(open) = method.filter(|_| !class.is_empty()) {
                        let name = format!("{}.{}", &class[..class.len() - 1], self.text(open - 1));
                        self.method(name, open, at);
                    }
                    at = self.partners[at] + 1;
                }
                _ => at += 1,
            }
        }
        Some(())
    }

    /// Where the name is of the class that is declared here.
    fn declared_class(&self, at: usize) -> Option<usize> {
        let is_part = at > 0 && matches!(self.text(at - 1), "." | "::");
        let is_one = match self.text(at) {
            "class" | "interface" | "enum" => true,
            "record" => matches!(self.text(at + 2), "(" | "<"),
            _ => false,
        };
        (is_one && !is_part && self.is_word(at + 1)).then_some(at + 1)
    }

    /// `@interface` is no annotation, and left for the class that it declares.
    fn behind_annotation(&self, at: usize) -> usize {
        if self.text(at + 1) == "interface" {
            return at + 1;
        }
        let mut next = at + 2;
        while self.text(next) == "." {
            next += 2;
        }
        if self.text(next) == "(" { self.partners[next] + 1 } else { next }
    }

    /// The next such symbol that is in no brackets; where there is none, what comes behind the end.
    fn next(&self, mut at: usize, end: usize, wanted: &str) -> usize {
        while at < end && self.text(at) != wanted {
            at = if matches!(self.text(at), "(" | "[" | "{") { self.partners[at] + 1 } else { at + 1 };
        }
        at
    }

    /// A method from its parameters on. What is in lambdas and classes without a place of their own is its, too.
    fn method(&mut self, function: String, parameters: usize, begin: usize) {
        let end = self.partners[begin];
        let mut hash = None;
        for at in begin + 1..end {
            let Some(start) = self.assertion(at) else { continue };
            let expression = shortened(printed(&self.tokens[start..=self.partners[at + 1]]));
            let body = hash.get_or_insert_with(|| {
                // What it may throw says nothing of what it does.
                let tokens = [&self.tokens[parameters..=self.partners[parameters]], &self.tokens[begin..=end]].concat();
                hash_of(tokens.iter().map(|token| token.text))
            });
            let times = self.ordinals.entry((function.clone(), expression.clone())).or_default();
            self.sites.push(Site {
                file: self.file.to_owned(),
                function: function.clone(),
                expression,
                ordinal: *times,
                line: self.tokens[at + 1].line,
                body: body.clone(),
                called: self.tokens[at].text.to_owned(),
            });
            *times += 1;
        }
    }

    /// Where the expression begins that ends with a call of the method that is named here, if that is an assertion.
    fn assertion(&self, at: usize) -> Option<usize> {
        if !self.is_word(at) || self.text(at + 1) != "(" || !self.is_call(at) {
            return None;
        }
        let (start, asked) = self.start(at)?;
        let is_short = self.partners[at + 1] - start <= MOST_WORDS;
        ((asked || is_check(self.text(at))) && is_short).then_some(start)
    }

    /// Whether a name before a bracket is that of a method that is called, and not of one that is declared or of a class.
    fn is_call(&self, at: usize) -> bool {
        let before = &self.tokens[at - 1];
        match before.kind {
            Kind::Word => matches!(before.text, "return" | "else" | "do" | "yield" | "case"),
            Kind::Literal => false,
            Kind::Symbol => !matches!(before.text, ">" | ">>" | ">>>" | "]" | "::" | "@"),
        }
    }

    /// Where the expression begins that leads to this name by dots; and whether something is asked in it: `assertThat(x).isEqual(y)`.
    fn start(&self, mut at: usize) -> Option<(usize, bool)> {
        let (mut asked, mut parts) = (false, 0);
        while at >= 2 && self.text(at - 1) == "." {
            parts += 1;
            if parts > MOST_PARTS {
                return None;
            }
            let mut part = at - 2;
            while matches!(self.text(part), ")" | "]") {
                let open = self.partners[part];
                let is_of_call = open > 0 && self.is_word(open - 1);
                if self.text(part) == ")" && !is_of_call {
                    // An expression in brackets.
                    return Some((open, asked));
                }
                if open == 0 {
                    return Some((0, asked));
                }
                asked |= self.text(part) == ")" && starts_question(self.text(open - 1));
                part = open - 1;
            }
            at = part;
        }
        Some((if at > 0 && self.text(at - 1) == "new" { at - 1 } else { at }, asked))
    }
}

fn is_check(name: &str) -> bool {
    name.starts_with("assert") || name == "fail"
}

fn starts_question(name: &str) -> bool {
    name.starts_with("assertThat") || name == "then" || name.starts_with("thenThrownBy")
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MOST) {
        None => text,
        Some((at, _)) => format!("{}… {}", &text[..at], hash_of([text.as_str()])),
    }
}

/// It is written into files that other versions of unflake read: FNV-1a.
fn hash_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let whole = |hash, text: &str| step(text.as_bytes().iter().fold(hash, step), &0);
    format!("{:016x}", texts.into_iter().fold(0xcbf2_9ce4_8422_2325, whole))
}

#[cfg(test)]
mod tests;
