use proptest::prelude::*;

use super::{changed, scopes};

/// `name first-line line last-line` of each scope, or `?`.
fn outline(source: &str) -> Vec<String> {
    let Some(found) = scopes(source.as_bytes()) else { return vec!["?".to_owned()] };
    found.iter().map(|one| format!("{} {} {} {}", one.name, one.first_line, one.line, one.last_line)).collect()
}

#[track_caller]
fn check_scopes(source: &str, expected: &[&str]) {
    assert_eq!(outline(source), expected, "{source}");
}

/// Names of the old side, a bar, names of the new side; or `?`.
#[track_caller]
fn check(before: &str, after: &str, expected: &str) {
    let told = changed(before.as_bytes(), after.as_bytes()).map(|functions| {
        let names = |set: &std::collections::BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        format!("{}|{}", names(&functions.before), names(&functions.after))
    });
    assert_eq!(told.as_deref().unwrap_or("?"), expected, "{before}\n---\n{after}");
}

#[test]
fn names_are_qualified() {
    let source = "\
import x

@deco(
    1)
@other
class A(B, metaclass=M):
    x = 1

    async def m(self): return 1

    class In:
        def deep(self):
            def inner():
                class Local:
                    def last(self):
                        pass
            return inner

def f(): pass
";
    let expected = [
        "A 3 6 17",
        "A.m 9 9 9",
        "A.In 11 11 17",
        "A.In.deep 12 12 17",
        "A.In.deep.<locals>.inner 13 13 16",
        "A.In.deep.<locals>.inner.<locals>.Local 14 14 16",
        "A.In.deep.<locals>.inner.<locals>.Local.last 15 15 16",
        "f 19 19 19",
    ];
    check_scopes(source, &expected);
}

#[test]
fn what_looks_like_code_in_strings_is_none() {
    check_scopes("x = '''\ndef no(): pass\n'''\ndef f():\n    \"\"\"\n  def no(): pass\n    \"\"\"\n", &["f 4 4 7"]);
    check_scopes("x = r'\\'\ndef no(): pass\n", &["?"]);
    check_scopes("x = r'\\\\'\ndef f(): pass\n", &["f 2 2 2"]);
    check_scopes("x = Rb'\\''\ndef f(): pass\n", &["f 2 2 2"]);
    check_scopes("x = 'a\\\ndef no(): pass'\n", &[]);
    check_scopes("x = 'open\ndef f(): pass\n", &["?"]);
    check_scopes("if'a'in x: pass\ndef f(): pass\n", &["f 2 2 2"]);
}

#[test]
fn strings_that_interpolate() {
    for text in [
        "f'{a}'",
        "f'{{}}'",
        "f\"{d['k']}\"",
        "f\"{d[\"k\"]}\"",
        "f'{x!r:>{w}}'",
        "f'{x:%Y-%m}'",
        "f'{x:#x}'",
        "f'{a != b}'",
        "f'{(lambda x: 1)}'",
        "f'\\N{DIGIT ONE}{x}'",
        "rf'\\{x}'",
        "f'''{\nx  # why '\n}'''",
        "f'{f\"{f'{1}'}\"}'",
        "t'{x}'",
        "f'{ {1: 2}[1] }'",
        "f\"{'}'}\"",
        "f'{x=}'",
    ] {
        let lines = text.matches('\n').count();
        let line = lines + 2;
        check_scopes(&format!("x = {text}\ndef f(): pass\n"), &[&format!("f {line} {line} {line}")]);
    }
    for text in ["f'{'", "f'}'", "f'{x'", "f'{x:'", "f'{(}'", "f'{x:{{}}}'"] {
        check_scopes(&format!("x = {text}\ndef f(): pass\n"), &["?"]);
    }
}

#[test]
fn lines_that_go_on() {
    check_scopes("x = (1,\ndef_ if y else 2,\n  # )\n)\ndef f(): pass\n", &["f 5 5 5"]);
    check_scopes("x = 1 + \\\n    2\ndef f(a,\n      b=[\n]): return (\n1)\n", &["f 3 3 6"]);
    check_scopes("if a and \\\n  b:\n    def f(): pass\n", &["f 3 3 3"]);
    for odd in ["x = (1\n", "x = 1)\n", "x = (1]\n", "x = \\ 1\n", "x = 1 \\", "  \\\nx = 1\n"] {
        check_scopes(odd, &["?"]);
    }
}

#[test]
fn indentation() {
    check_scopes(
        "def f():\n\treturn 1\n\n# out\n\x0cdef g():\n  if x:\n\n        pass\n  # in\n",
        &["f 1 1 2", "g 5 5 8"],
    );
    check_scopes(
        "class A:\n    def f(self):\n      pass\n    def g(self):\n        pass",
        &["A 1 1 5", "A.f 2 2 3", "A.g 4 4 5"],
    );
    check_scopes("\u{feff}def f():\r\n    return 1\rdef g(): pass\r\n", &["f 1 1 2", "g 3 3 3"]);
    for odd in [
        "if x:\n        a\n\tb\n",
        "if x:\n    a\n  b\n",
        "x\n  y\n",
        "  x\n",
        "if x:\ny\n",
        "def f():\nx\n",
        "def f():\n",
        "@d\n",
        "@d\nx = 1\n",
    ] {
        check_scopes(odd, &["?"]);
    }
}

#[test]
fn younger_syntax() {
    check_scopes(
        "def f[T: (int, str)](x: T) -> dict[str, T]:\n    pass\nclass A[T](B): pass\ntype X = int\n",
        &["f 1 1 2", "A 3 3 3"],
    );
    check_scopes("match x:\n    case {'a': 1}:\n        def f(): pass\nmatch = 1\n", &["f 3 3 3"]);
    check_scopes("async def f():\n    async with a as b: pass\n    x = [i async for i in y]\n", &["f 1 1 3"]);
    check_scopes("try:\n    pass\nexcept* E:\n    def f(): pass\n", &["f 4 4 4"]);
}

#[test]
fn what_has_another_name_when_it_runs_is_not_told() {
    check_scopes("def f():\n    global g\n    def g(): pass\n", &["?"]);
    check_scopes("def f():\n    global h, i\n    def g(): pass\n", &["f 1 1 3", "f.<locals>.g 3 3 3"]);
    check_scopes("def ﬁ(): pass\n", &["?"]);
    check_scopes("def f() -> lambda: 1: pass\n", &["?"]);
}

#[test]
fn encodings() {
    check_scopes("# -*- coding: utf-8 -*-\ndef f(): return 'ü'\n", &["f 2 2 2"]);
    check_scopes("#!/bin/sh\n# vim: fileencoding=latin-1\ndef f(): return 'u'\n", &["f 3 3 3"]);
    check_scopes("# coding=latin-1\ndef f(): return 'ü'\n", &["?"]);
    check_scopes("# coding: rot13\ndef f(): pass\n", &["?"]);
    assert_eq!(scopes(b"def f(): return '\xff'\n"), None);
    assert_eq!(scopes(b"def f(): return '\0'\n"), None);
    check("# coding: utf-8\nx = 1\n", "# coding: ascii\nx = 1\n", "?");
}

#[test]
fn a_change_is_told_of_the_scope_whose_own_code_it_is() {
    let before = "import a\nX = 1\nclass C:\n    y = 1\n    def m(self, d=1):\n        def inner():\n            return 1\n        return inner\n@deco\ndef f():\n    return lambda: 2\n";
    let edit = |from: &str, to: &str, expected: &str| {
        assert!(before.contains(from));
        check(before, &before.replacen(from, to, 1), expected);
    };
    edit("X = 1", "X = 2", "<module>|<module>");
    edit("y = 1", "y = 2", "C|C");
    edit("d=1", "d=2", "C|C");
    edit("return 1", "return 2", "C.m.<locals>.inner|C.m.<locals>.inner");
    edit("return inner", "return inner()", "C.m|C.m");
    edit("lambda: 2", "lambda: 3", "f|f");
    edit("@deco", "@decorated", "<module>|<module>");
    edit("def f():", "async def f():", "<module>|<module>");
    edit("def f():", "def g():", "<module> f|<module> g");
    edit("class C:", "class C(D):", "<module>|<module>");
    edit("def inner():", "def inner(x):", "C.m|C.m");
    edit("        return inner\n", "        if x:\n            return inner\n", "C.m|C.m");
    edit("    y = 1\n", "    y = 1\n    def n(self): pass\n", "C|C C.n");
}

#[test]
fn comments_and_spacing_are_no_change() {
    let before = "def f(a, b):\n    if a:\n        return a+b\n    return [1, 2]\n";
    check(before, before, "|");
    check(
        before,
        "# new\n\ndef f( a,b ):\n\n  if a: # why\n\n      # because\n      return a + b\n  return [\n    1, 2\n  ]",
        "|",
    );
    check(before, "def f(a, \\\n b):\n\tif a:\n\t\treturn a+b\n\treturn [1, 2]\n", "|");
    check("def f(): return 1\n", "def f():\n    return 1\n", "|");
}

#[test]
fn what_only_looks_like_spacing_is_a_change() {
    check("def f():\n    if a:\n        b\n    c\n", "def f():\n    if a:\n        b\n        c\n", "f|f");
    check("def f():\n    'doc'\n", "def f():\n    'doc '\n", "f|f");
    check("def f():\n    return 1\n", "def f():\n    return\n    1\n", "f|f");
    check("x = notb\n", "x = not b\n", "<module>|<module>");
    check("x = a = = b\n", "x = a == b\n", "<module>|<module>");
    check("x = 'a' 'b'\n", "x = 'a'\n'b'\n", "<module>|<module>");
    check("x = f'{a}'\n", "x = f'{a }'\n", "<module>|<module>");
}

#[test]
fn scopes_of_one_name_are_one_and_their_order_counts() {
    let before = "if a:\n    def f(): return 1\nelse:\n    def f(): return 2\n";
    check(before, "if a:\n    def f(): return 2\nelse:\n    def f(): return 1\n", "f|f");
    check(before, "if a:\n    def f(): return 1\nelse:\n    def f(): return 3\n", "f|f");
    check("def f(): 1; 2\ndef f(): 3\n", "def f(): 1\ndef f(): 2; 3\n", "f|f");
    check("def f(): pass\n", "class f: pass\n", "<module> f|<module> f");
}

/// A statement of a made-up program, and the tokens of it that can be edited.
#[derive(Clone, Debug)]
enum Statement {
    Simple(&'static str),
    Block(&'static str, Vec<Statement>),
    Scope(&'static str, &'static str, Vec<Statement>),
}

fn statements() -> impl Strategy<Value = Vec<Statement>> {
    const SIMPLE: [&str; 8] = [
        "x = WORD",
        "return_(WORD, [1,\n2])",
        "y = '''\n  def no(): ''' + WORD  # def z():",
        "z = f'{a[\"b\"]:{w}}' if WORD else lambda: 1",
        "\"doc\"; WORD",
        "d = {'a': WORD, **b}",
        "w = 1 + \\\n  WORD",
        "WORD @ x",
    ];
    let simple = proptest::sample::select(&SIMPLE).prop_map(Statement::Simple).boxed();
    let one = simple.prop_recursive(4, 24, 4, |inner| {
        let some = proptest::collection::vec(inner, 1..4);
        let blocks = proptest::sample::select(&["if a:", "for i in (1,\n 2):", "with a as b:", "match x:"]);
        let heads = proptest::sample::select(&["def", "async def", "class", "@deco\ndef"]);
        let names = proptest::sample::select(&["f", "g", "H"]);
        prop_oneof![
            (blocks, some.clone()).prop_map(|(head, body)| Statement::Block(head, body)),
            (heads, names, some).prop_map(|(head, name, body)| Statement::Scope(head, name, body)),
        ]
    });
    proptest::collection::vec(one, 1..5)
}

/// Writes a program, the word at `target` with an edit, and says whose code that word is.
fn write(
    statements: &[Statement],
    indent: usize,
    scope: &str,
    kind: char,
    target: usize,
    state: &mut (usize, String, String),
) {
    let pad = "    ".repeat(indent);
    for statement in statements {
        match statement {
            Statement::Simple(text) => {
                let word = if state.0 == target { "edited" } else { "word" };
                if state.0 == target {
                    state.2 = scope.to_owned();
                }
                state.0 += 1;
                state.1 += &format!("{pad}{}\n", text.replace("WORD", word));
            }
            Statement::Block(head, body) => {
                state.1 += &format!("{pad}{head}\n");
                write(body, indent + 1, scope, kind, target, state);
            }
            Statement::Scope(head, name, body) => {
                let head = head.replace('\n', &format!("\n{pad}"));
                state.1 += &format!("{pad}{head} {name}():\n");
                let full = match kind {
                    'm' => (*name).to_owned(),
                    'c' => format!("{scope}.{name}"),
                    _ => format!("{scope}.<locals>.{name}"),
                };
                write(body, indent + 1, &full, if head.ends_with("class") { 'c' } else { 'f' }, target, state);
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_text_is_survived(text in any::<String>(), bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (scopes(text.as_bytes()), scopes(&bytes), changed(text.as_bytes(), &bytes));
    }

    #[test]
    fn text_of_the_right_letters_is_survived(text in "(def |class |f|:|\n|    |\t|\\(|\\)|\\{|\\}|'|\"|\"\"\"|f'|\\\\|#|@|x|1|;|,|lambda|ü|\r){0,60}") {
        let _ = changed(text.as_bytes(), text.as_bytes()).is_none_or(|functions| { assert!(functions.is_empty()); true });
    }

    #[test]
    fn an_edit_is_told_of_its_scope_alone(program in statements(), target in 0usize..40) {
        let written = |target| {
            let mut state = (0, String::new(), String::new());
            write(&program, 0, "<module>", 'm', target, &mut state);
            state
        };
        let (count, before, _) = written(usize::MAX);
        let (_, after, scope) = written(target % count);
        let functions = changed(before.as_bytes(), after.as_bytes()).expect(&before);
        prop_assert_eq!(functions.before.iter().collect::<Vec<_>>(), [&scope], "{}\n---\n{}", before, after);
        prop_assert_eq!(functions.after.iter().collect::<Vec<_>>(), [&scope]);
    }
}
