//! Which functions and classes a source has, where, and what each of them says by itself.

use std::collections::{BTreeMap, BTreeSet};

use unflake_model::ChangedFunctions;

use super::tokens::{Kind, Token, tokens};

/// A function or a class of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Such as `function.<locals>.Class.method`. Two scopes may have the same.
    pub name: String,
    pub is_class: bool,
    /// Of its first decorator, if it has one. Lines are counted from 1.
    pub first_line: u32,
    /// Of its `def`, `async` or `class`.
    pub line: u32,
    pub last_line: u32,
}

#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) scopes: Vec<Scope>,
    /// The tokens of each scope's own code by its name; those of scopes of the same name one after the other.
    pub(super) own: BTreeMap<String, String>,
    /// The names among them that are not functions.
    pub(super) bodies: BTreeSet<String>,
}

// Between tokens stands a NUL, which no source has, so that these are no tokens.
const NEWLINE: &str = "\u{1}\0";
const INDENT: &str = "\u{2}\0";
const DEDENT: &str = "\u{3}\0";
const CLASS: &str = "\u{4}\0";
const FUNCTION: &str = "\u{5}\0";

/// None where the source is odd in any way.
pub(super) fn outline(source: &str) -> Option<Outline> {
    let mut walk = Walk {
        outline: Outline::default(),
        stack: vec![Frame { name: ChangedFunctions::MODULE.to_owned(), kind: Frames::Module, depth: 0, scope: 0 }],
        depth: 0,
        awaited: Awaited::Statement,
        decorated: None,
        last_line: 0,
        declared_global: BTreeSet::new(),
        nested: BTreeSet::new(),
    };
    walk.outline.own.insert(ChangedFunctions::MODULE.to_owned(), String::new());
    walk.outline.bodies.insert(ChangedFunctions::MODULE.to_owned());
    let tokens = tokens(source)?;
    let mut rest = tokens.as_slice();
    while let Some(first) = rest.first() {
        match first.kind {
            Kind::Indent => {
                walk.indent()?;
                rest = &rest[1..];
            }
            Kind::Dedent => {
                walk.dedent()?;
                rest = &rest[1..];
            }
            _ => {
                let end = rest.iter().position(|token| token.kind == Kind::Newline)?;
                walk.line(&rest[..end])?;
                rest = &rest[end + 1..];
            }
        }
    }
    walk.end()
}

struct Walk {
    outline: Outline,
    stack: Vec<Frame>,
    depth: usize,
    awaited: Awaited,
    /// The line of the first decorator of what comes next.
    decorated: Option<u32>,
    last_line: u32,
    declared_global: BTreeSet<String>,
    /// The plain names of scopes in other scopes.
    nested: BTreeSet<String>,
}

struct Frame {
    name: String,
    kind: Frames,
    /// How deep its block is indented.
    depth: usize,
    scope: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Frames {
    Module,
    Class,
    Function,
}

/// What must come next.
enum Awaited {
    Statement,
    Block,
    BodyOf(Frame),
}

impl Walk {
    fn indent(&mut self) -> Option<()> {
        self.depth += 1;
        match std::mem::replace(&mut self.awaited, Awaited::Statement) {
            Awaited::Statement => None,
            Awaited::Block => {
                self.say(INDENT);
                Some(())
            }
            Awaited::BodyOf(frame) => {
                self.stack.push(Frame { depth: self.depth, ..frame });
                Some(())
            }
        }
    }

    fn dedent(&mut self) -> Option<()> {
        if !matches!(self.awaited, Awaited::Statement) || self.decorated.is_some() {
            return None;
        }
        if self.stack.last()?.depth == self.depth {
            let frame = self.stack.pop()?;
            self.outline.scopes[frame.scope].last_line = self.last_line;
        } else {
            self.say(DEDENT);
        }
        self.depth -= 1;
        Some(())
    }

    fn end(self) -> Option<Outline> {
        let whole = matches!(self.awaited, Awaited::Statement) && self.decorated.is_none();
        // A function that its surroundings declare global has no qualified name but its own.
        let plain = self.nested.is_disjoint(&self.declared_global);
        (whole && plain).then_some(self.outline)
    }

    fn line(&mut self, line: &[Token]) -> Option<()> {
        if !matches!(self.awaited, Awaited::Statement) {
            return None;
        }
        let [first, ..] = line else { return None };
        let asynchronous = first.text == "async" && line.get(1).is_some_and(|token| token.text == "def");
        match first.text {
            "def" | "class" => return self.scope(line, 0),
            "async" if asynchronous => return self.scope(line, 1),
            "@" => {
                self.decorated.get_or_insert(first.line);
            }
            _ if self.decorated.is_some() => return None,
            _ => {}
        }
        self.statement(line);
        if line.last()?.text == ":" {
            self.awaited = Awaited::Block;
        }
        Some(())
    }

    /// A logical line that makes a function or a class; its keyword is at `keyword`.
    fn scope(&mut self, line: &[Token], keyword: usize) -> Option<()> {
        let name = line.get(keyword + 1).filter(|token| token.kind == Kind::Word)?.text;
        // Others have another spelling when they run.
        if !name.is_ascii() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let colon = line.iter().position(|token| token.text == ":" && token.nesting == 0)?;
        let (header, body) = line.split_at(colon + 1);
        if header.iter().any(|token| token.text == "lambda" && token.nesting == 0) {
            return None;
        }
        self.statement(header);

        let kind = if line[keyword].text == "class" { Frames::Class } else { Frames::Function };
        let around = self.stack.last()?;
        let full = match around.kind {
            Frames::Module => name.to_owned(),
            Frames::Class => format!("{}.{name}", around.name),
            Frames::Function => format!("{}.<locals>.{name}", around.name),
        };
        if around.kind != Frames::Module {
            self.nested.insert(name.to_owned());
        }
        if kind == Frames::Class {
            self.outline.bodies.insert(full.clone());
        }
        let own = self.outline.own.entry(full.clone()).or_default();
        own.push_str(if kind == Frames::Class { CLASS } else { FUNCTION });
        let first_line = self.decorated.take().unwrap_or(line[0].line);
        let scope = Scope {
            name: full.clone(),
            is_class: kind == Frames::Class,
            first_line,
            line: line[0].line,
            last_line: line.last()?.last_line,
        };
        let frame = Frame { name: full, kind, depth: 0, scope: self.outline.scopes.len() };
        self.outline.scopes.push(scope);
        if body.is_empty() {
            self.awaited = Awaited::BodyOf(frame);
            return Some(());
        }
        if body.last()?.text == ":" {
            return None;
        }
        self.stack.push(frame);
        self.statement(body);
        self.stack.pop();
        Some(())
    }

    /// Tokens of the current scope's own code.
    fn statement(&mut self, tokens: &[Token]) {
        let mut names_are_global = false;
        let name = &self.stack.last().expect("the module is never left").name;
        let own = self.outline.own.get_mut(name).expect("every scope on the stack has a text");
        for token in tokens {
            own.push_str(token.text);
            own.push('\0');
            self.last_line = token.last_line;
            match token.text {
                "global" => names_are_global = true,
                "," => {}
                _ if token.kind != Kind::Word => names_are_global = false,
                name if names_are_global => {
                    self.declared_global.insert(name.to_owned());
                }
                _ => {}
            }
        }
        own.push_str(NEWLINE);
    }

    fn say(&mut self, mark: &str) {
        let name = &self.stack.last().expect("the module is never left").name;
        self.outline.own.get_mut(name).expect("every scope on the stack has a text").push_str(mark);
    }
}
