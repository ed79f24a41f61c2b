//! The functions in a Python file, each with a hash of its code that its name, its place and its layout do not change. The file is not run,
//! and not understood further than that.

use std::collections::HashMap;

use twox_hash::XxHash3_128;

/// With fewer characters than this, two are too easily the same.
const SHORTEST: usize = 24;

/// By name, below classes as pytest joins them: `TestCart::test_total`. A hash of None: too short to tell anything.
pub(crate) fn functions(text: &str) -> HashMap<String, Option<String>> {
    let mut found = HashMap::new();
    // What the line is in: the indentation and name of classes and functions around it.
    let mut around: Vec<(usize, &str)> = Vec::new();
    let mut open: Option<Open> = None;
    let mut inside = Inside::default();
    for line in text.lines() {
        let begun = inside;
        inside.read(line);
        let code = line.trim();
        if begun == Inside::default() {
            if code.is_empty() || code.starts_with('#') {
                continue;
            }
            let indent = line.len() - line.trim_start().len();
            if open.as_ref().is_some_and(|open| indent <= open.indent) {
                close(open.take(), &mut found);
            }
            if open.is_none() {
                around.retain(|(outer, _)| *outer < indent);
                if let Some(name) = declared(code, "class ") {
                    around.push((indent, name));
                } else if let Some(name) = declared(code.strip_prefix("async ").unwrap_or(code), "def ") {
                    let names: Vec<&str> = around.iter().map(|(_, name)| *name).chain([name]).collect();
                    let rest = code.split_once(name).map_or("", |(_, rest)| rest);
                    open = Some(Open { indent, name: names.join("::"), text: format!("{rest}\n") });
                }
                continue;
            }
        }
        if let Some(open) = &mut open {
            open.add(line, &begun);
        }
    }
    close(open, &mut found);
    found
}

/// A function whose end has not come.
struct Open {
    indent: usize,
    name: String,
    text: String,
}

impl Open {
    fn add(&mut self, line: &str, begun: &Inside) {
        let kept = if begun.string.is_some() {
            // What is in a text is the text, wherever it stands.
            line
        } else if begun.brackets > 0 {
            line.trim()
        } else {
            line.get(self.indent..).unwrap_or(line).trim_end()
        };
        self.text += kept;
        self.text.push('\n');
    }
}

fn close(open: Option<Open>, found: &mut HashMap<String, Option<String>>) {
    let Some(open) = open else { return };
    let long = open.text.chars().filter(|c| !c.is_whitespace()).count() >= SHORTEST;
    let hash = long.then(|| format!("{:032x}", XxHash3_128::oneshot(open.text.as_bytes())));
    // Of two with the same name the later one counts.
    found.insert(open.name, hash);
}

fn declared<'a>(code: &'a str, word: &str) -> Option<&'a str> {
    let rest = code.strip_prefix(word)?.trim_start();
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// What a line may begin in: a text of several lines, brackets, a line that goes on.
#[derive(Clone, Copy, Default, PartialEq)]
struct Inside {
    string: Option<[u8; 3]>,
    brackets: u32,
    goes_on: bool,
}

impl Inside {
    fn read(&mut self, line: &str) {
        let bytes = line.as_bytes();
        let mut at = 0;
        self.goes_on = false;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if let Some(end) = self.string {
                if rest[0] == b'\\' {
                    at += 2;
                } else if rest.starts_with(&end) {
                    self.string = None;
                    at += 3;
                } else {
                    at += 1;
                }
                continue;
            }
            match rest[0] {
                b'#' => break,
                quote @ (b'"' | b'\'') if rest.starts_with(&[quote; 3]) => {
                    self.string = Some([quote; 3]);
                    at += 3;
                    continue;
                }
                quote @ (b'"' | b'\'') => at += skip(rest, quote),
                b'(' | b'[' | b'{' => self.brackets += 1,
                b')' | b']' | b'}' => self.brackets = self.brackets.saturating_sub(1),
                b'\\' if rest.len() == 1 => self.goes_on = true,
                _ => {}
            }
            at += 1;
        }
    }
}

/// How far it is to the end of a text of one line.
fn skip(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str, name: &str) -> Option<String> {
        functions(text).remove(name).unwrap_or_else(|| panic!("{name} in {:?}", functions(text)))
    }

    const ONE: &str = "import x\n\ndef test_one(cart):\n    # adds\n    cart.add(3, \"a # b\")\n\n    assert cart.total(\n        1) == 3\n\nz = 1\n";

    #[test]
    fn the_name_the_place_and_the_layout_do_not_matter() {
        let moved = "class TestIt:\n    x = 1\n    async def test_other(cart):\n        cart.add(3, \"a # b\")   \n        assert cart.total(\n            1) == 3\n";
        assert!(hash(ONE, "test_one").is_some());
        assert_eq!(hash(ONE, "test_one"), hash(moved, "TestIt::test_other"));
        let changed = ONE.replace("== 3", "== 4");
        assert_ne!(hash(ONE, "test_one"), hash(&changed, "test_one"));
        let deeper = ONE.replace("    assert", "        assert");
        assert_ne!(hash(ONE, "test_one"), hash(&deeper, "test_one"));
        let other_fixture = ONE.replace("(cart):", "(shop):");
        assert_ne!(hash(ONE, "test_one"), hash(&other_fixture, "test_one"));
    }

    #[test]
    fn texts_of_several_lines_are_not_code() {
        let text = "def test_a():\n    text = '''\ndef test_b():\nclass C:\n'''\n    assert parse(text) == [1, 2]\ndef test_c(): assert something_long_enough == 1\n";
        let found = functions(text);
        let mut names: Vec<&String> = found.keys().collect();
        names.sort();
        assert_eq!(names, ["test_a", "test_c"]);
        assert_ne!(hash(text, "test_a"), hash(&text.replace("class C", "class D"), "test_a"));
    }

    #[test]
    fn what_is_too_short_tells_nothing() {
        assert_eq!(hash("def test_a():\n    assert f()\n", "test_a"), None);
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for text in [
            "",
            "def",
            "def (",
            "class \n def x(",
            "'''",
            "\"\\",
            "def é():\n\u{a0}x\n",
            "\tdef t(a):\n\t\treturn 'x\n",
        ] {
            functions(text);
        }
    }
}
