//! Tests of `python`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{ChangedNames, NameUses, changed_functions, function_hashes, scopes};

/// `name first-line line last-line` of each scope, or `?` where it is unknown.
fn outline(source: &str) -> Vec<String> {
    let Some(found) = scopes(source.as_bytes()) else { return vec!["?".to_owned()] };
    found.iter().map(|one| format!("{} {} {} {}", one.name, one.first_line, one.line, one.last_line)).collect()
}

#[track_caller]
fn check_scopes(source: &str, expected: &[&str]) {
    assert_eq!(outline(source), expected, "{source}");
}

/// The changed functions before, a bar, those after, another bar and names that are bound to
/// something else, if there are any; or `?` where they are unknown.
#[track_caller]
fn check(before: &str, after: &str, expected: &str) {
    let shown = changed_functions(before.as_bytes(), after.as_bytes()).map(|change| {
        let functions = change.functions;
        let names = |set: &std::collections::BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        let bound = if functions.names.is_empty() { String::new() } else { format!("|{}", names(&functions.names)) };
        format!("{}|{}{bound}", names(&functions.before), names(&functions.after))
    });
    assert_eq!(shown.as_deref().unwrap_or("?"), expected, "{before}\n---\n{after}");
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
fn code_in_strings_is_no_code() {
    check_scopes("x = '''\ndef no(): pass\n'''\ndef f():\n    \"\"\"\n  def no(): pass\n    \"\"\"\n", &["f 4 4 7"]);
    check_scopes("x = r'\\'\ndef no(): pass\n", &["?"]);
    check_scopes("x = r'\\\\'\ndef f(): pass\n", &["f 2 2 2"]);
    check_scopes("x = Rb'\\''\ndef f(): pass\n", &["f 2 2 2"]);
    check_scopes("x = 'a\\\ndef no(): pass'\n", &[]);
    check_scopes("x = 'open\ndef f(): pass\n", &["?"]);
    check_scopes("x = '\ndef f(): pass'\n", &["?"]);
    check_scopes("x = '{a\n}'\ndef f(): pass\n", &["?"]);
    check_scopes("x = 'a\\\\\n'\ndef f(): pass\n", &["?"]);
    check_scopes("x = `y`\ndef f(): pass\n", &["?"]);
    check_scopes("if'a'in x: pass\ndef f(): pass\n", &["f 2 2 2"]);
}

#[test]
fn what_can_be_read_of_a_function_belongs_to_the_scope_around_it() {
    let documented = |text: &str| format!("def f():\n    # A comment.\n    {text}\n    return 1\n");
    check(&documented("'''Old.'''"), &documented("'''New.'''"), "f|f|f");
    check(&documented("'Old ' 'text.'"), &documented("'Old ' 'words.'"), "f|f|f");
    check(&documented("x = 'Old.'"), &documented("x = 'New.'"), "f|f");
    check("class A:\n    def m(self):\n        'a'\n", "class A:\n    def m(self):\n        'b'\n", "A.m|A.m|m");
    check("def f():\n    return 1\n", "def f():\n    yield 1\n", "f|f|f");
    check("def f():\n    yield 1\n", "def f():\n    yield 2\n", "f|f");
    check(
        "def f():\n    def g():\n        return 1\n",
        "def f():\n    def g():\n        yield 1\n",
        "f f.<locals>.g|f f.<locals>.g",
    );
}

#[test]
fn strings_with_replacement_fields() {
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
        "f'{\nx}'",
        "f'{f\"{f'{1}'}\"}'",
        "t'{x}'",
        "f'{ {1: 2}[1] }'",
        "f\"{'}'}\"",
        "f'{x=}'",
        "f'{x:{{}}}'",
    ] {
        let lines = text.matches('\n').count();
        let line = lines + 2;
        check_scopes(&format!("x = {text}\ndef f(): pass\n"), &[&format!("f {line} {line} {line}")]);
    }
    for text in ["f'{x}\n'", "f'{'", "f'}'", "f'{x'", "f'{x:'", "f'{(}'"] {
        check_scopes(&format!("x = {text}\ndef f(): pass\n"), &["?"]);
    }
}

#[test]
fn lines_that_are_continued() {
    check_scopes("x = (1,\ndef_ if y else 2,\n  # )\n)\ndef f(): pass\n", &["f 5 5 5"]);
    check_scopes("x = 1 + \\\n    2\ndef f(a,\n      b=[\n]): return (\n1)\n", &["f 3 3 6"]);
    check_scopes("if a and \\\n  b:\n    def f(): pass\n", &["f 3 3 3"]);
    for odd in [
        "x =\n1\n",
        "def f()\n: pass\n",
        "with\\\n\na: pass\n",
        "x = 1:\ny = 2\n",
        "x = (1\n",
        "x = 1)\n",
        "x = (1]\n",
        "x = \\ 1\n",
        "x = 1 \\",
        "  \\\nx = 1\n",
    ] {
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
        "if x:\n    a\n  else:\n    b\n",
        "match x:\n    case 1\n      if y: pass\n",
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
fn newer_syntax() {
    check_scopes(
        "def f[T: (int, str)](x: T) -> dict[str, T]:\n    pass\nclass A[T](B): pass\ntype X = int\n",
        &["f 1 1 2", "A 3 3 3"],
    );
    check_scopes("match x:\n    case {'a': 1}:\n        def f(): pass\nmatch = 1\n", &["f 3 3 3"]);
    check_scopes("async def f():\n    async with a as b: pass\n    x = [i async for i in y]\n", &["f 1 1 3"]);
    check_scopes("def f() -> lambda: 1: pass\n", &["f 1 1 1"]);
    check_scopes("try:\n    pass\nexcept* E:\n    def f(): pass\n", &["f 4 4 4"]);
}

#[test]
fn a_function_whose_runtime_name_differs_makes_the_source_unknown() {
    check_scopes("def f():\n    global g\n    def g(): pass\n", &["?"]);
    check_scopes("def f():\n    global h, i\n    def g(): pass\n", &["f 1 1 3", "f.<locals>.g 3 3 3"]);
    check_scopes("def ﬁ(): pass\n", &["?"]);
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
fn a_change_belongs_to_the_innermost_scope_around_it() {
    let before = "import a\nX = 1\nclass C:\n    y = 1\n    def m(self, d=1):\n        def inner():\n            return 1\n        return inner\n@deco\ndef f():\n    return lambda: 2\n";
    let edit = |from: &str, to: &str, expected: &str| {
        assert!(before.contains(from));
        check(before, &before.replacen(from, to, 1), expected);
    };
    edit("X = 1", "X = 2", "||X");
    edit("y = 1", "y = 2", "||y");
    edit("d=1", "d=2", "C.m|C.m|m");
    edit("return 1", "return 2", "C.m.<locals>.inner|C.m.<locals>.inner");
    edit("return inner", "return inner()", "C.m|C.m");
    edit("lambda: 2", "lambda: 3", "f|f");
    edit("@deco", "@decorated", "<module>|<module>");
    edit("def f():", "async def f():", "<module>|<module>");
    edit("def f():", "def g():", "<module> f|<module> g");
    edit("class C:", "class C(D):", "<module> C.m C.m.<locals>.inner|<module> C.m C.m.<locals>.inner|C");
    edit("def inner():", "def inner(x):", "C.m|C.m");
    edit("        return inner\n", "        if x:\n            return inner\n", "C.m|C.m");
    edit("    y = 1\n", "    y = 1\n    def n(self): pass\n", "|C.n|n");
}

#[test]
fn what_a_body_binds_is_known_by_its_names() {
    let base = "import os\nfrom app.a import b\nX = 1\ndef f(): return X\nclass C:\n    y = 1\n    def m(self): pass\n";
    let added = |line: &str, expected: &str| check(base, &format!("{base}{line}\n"), expected);
    added("def g(a, b=X, *c): pass", "|g|g");
    added("def g(a=f()): pass", "<module>|<module> g");
    added("def g(a: missing): pass", "<module>|<module> g");
    added("@app.route('/')\ndef g(): pass", "<module>|<module> g");
    added("@functools.wraps(f)\ndef g(): pass", "|g|g");
    added("@staticmethod\ndef g(): pass", "|g|g");
    added("@pytest.fixture(autouse=True)\ndef g(): pass", "<module>|<module> g");
    added("def pytest_runtest_setup(item): pass", "<module>|<module> pytest_runtest_setup");
    added("def setup_module(): pass", "<module>|<module> setup_module");
    added("def __getattr__(name): pass", "<module>|<module> __getattr__");
    added("Y = (X, {1: f}, -2)", "||Y");
    added("Y = f()", "<module>|<module>");
    added("Y = object()", "||Y");
    added("Y: int = Z", "<module>|<module>");
    added("X.y = 1", "<module>|<module>");
    added("X += 1", "||X");
    added("print(1)", "<module>|<module>");
    added("import json", "||json");
    added("import other", "<module>|<module>");
    added("from app.a import d as e", "||e");
    added("from app.d import e", "<module>|<module>");
    added("__all__ = ['f', 'C']", "||C __all__ f");
    added("'''>>> f()'''", "<module>|<module>");
    added("class D(C):\n    z = 1\n    def n(self): pass", "|D.n|D");
    added("class D(Meta):\n    pass", "<module>|<module>");
    added("if TYPE_CHECKING:\n    from x import y", "||y");
    added("    z = 2", "||z");
    added("    z = f()", "C|C");
    added("    def keys(self): pass", "C.m|C.keys C.m|C keys");
    let imports = |first: &str, second: &str| format!("import {first}\nimport {second}\n");
    check(&imports("a", "b"), &imports("b", "a"), "<module>|<module>|a");
    check(&imports("os", "re"), &imports("re", "os"), "||os");
    added("    def __eq__(self, other): pass", "C.m|C.__eq__ C.m|C __eq__");
    check("class C(Meta):\n    y = 1\n", "class C(Meta):\n    y = 2\n", "||C y");
    check("class C(Meta):\n    y = 1\n", "class C(Meta):\n    __slots__ = 2\n", "C|C|C y");
    let conditional = |value: u32| format!("try:\n    X = {value}\nexcept E:\n    X = 2\n");
    check(&conditional(1), &conditional(3), "<module>|<module>");
}

/// Who of a source uses changed names, and which names depend on them.
#[track_caller]
fn check_users(source: &str, names: &[&str], attributes: &[&str], expected: &[&str], further: &[&str]) {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let mut changed = ChangedNames {
        names: set(names),
        attributes: set(attributes),
        removed: set(&["GONE"]),
        ..ChangedNames::default()
    };
    let users = NameUses::read(source.as_bytes()).unwrap().users(&mut changed, "rates");
    assert_eq!(users, set(expected), "{source}");
    let all: BTreeSet<String> = changed.names.union(&changed.attributes).cloned().collect();
    assert_eq!(all, set(&[names, attributes, further].concat()), "{source}");
}

#[test]
fn users_of_a_name_are_functions_that_contain_it() {
    let check = |source: &str, expected: &[&str]| check_users(source, &["X"], &[], expected, &[]);
    check("def f(): return X\ndef g(): return Y\n", &["f"]);
    check("def f(a=1):\n    'X is a word here'\n    def g(): return rates.X\n", &["f.<locals>.g"]);
    check("def f(): return 'a.X'\n", &["f"]);
    check("class C:\n    def m(self, X): pass\n", &["C.m"]);
    check("def f(): return getattr(o, 'Y')\ndef g(): return getattr(o, name)\n", &[]);
    let own = "class C:\n    def m(self): return getattr(self, name)\n";
    check(own, &[]);
    check_users(own, &[], &["y"], &["C.m"], &[]);
    check("def f(): use(rates)\ndef g(): return rates.Y\n", &["f"]);
    check("import app.rates as r\ndef f(): use(r)\ndef g(): return r.Y\n", &["f"]);
    check("def f(): use(app.rates)\ndef g(): return app.rates()\n", &["f"]);
    check("def f(): return getattr(rates, name)\n", &["f"]);
    check("def f(): return globals()[n]\n", &["f"]);
    check("def f(request): return request.module\n", &["f"]);
    check("def f(o): return o.__dict__[n]\n", &[]);
    check_users("def f(o): return o.__dict__[n]\n", &[], &["y"], &["f"], &[]);
    check("def f(): monkeypatch.setattr('a.Y', 1)\n", &[]);
}

#[test]
fn names_of_the_standard_library_are_those_of_a_module_where_they_are_taken_from_it() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let names = set(&["re", "X"]);
    let changed = ChangedNames { names, library: set(&["re"]), removed: set(&["re"]), ..ChangedNames::default() };
    let check = |source: &str, expected: &[&str]| {
        let seen = changed.seen_from(&NameUses::read(source.as_bytes()).unwrap(), "rates");
        assert_eq!(seen.names, set(expected), "{source}");
        assert_eq!(seen.removed.is_empty(), expected == ["X"], "{source}");
    };
    check("import re\nre.compile('')\n", &["X"]);
    check("from app.rates import re\n", &["X", "re"]);
    check("from app import rates\nrates.re.compile('')\n", &["X", "re"]);
    check("import app.rates as r\nr.re.compile('')\n", &["X", "re"]);
    check("from app.rates import *\n", &["X", "re"]);
}

#[test]
fn a_name_that_is_made_of_a_changed_one_is_changed_too() {
    let check = |source: &str, expected: &[&str], further: &[&str]| check_users(source, &["X"], &[], expected, further);
    check("from rates import X as Z\ndef f(): return Z\n", &["f"], &["Z"]);
    check("from rates import X\ndef f(): return Z\n", &[], &[]);
    check_users("from rates import GONE\ndef f(): pass\n", &["GONE"], &[], &["<module>"], &[]);
    check_users("def f(): return C()._C__x\n", &[], &["__x"], &["f"], &[]);
    check("Z = X\nW = [Z]\ndef f(): return W\n", &["f"], &["Z", "W"]);
    check("def f(a=X): pass\ndef g(): f()\n", &["f", "g"], &["f"]);
    check("register(X)\ndef f(): pass\n", &["<module>"], &[]);
    check("T['a'] = X\n", &["<module>"], &[]);
    check("class D(X):\n    def m(self): pass\n    n = 1\n", &["D.m"], &["D"]);
    check("class D:\n    y = X\n    def m(self): pass\n", &["D.m"], &["D", "y"]);
    check("@pytest.mark.parametrize('a', X)\ndef test_a(a): pass\n", &["test_a"], &["test_a"]);
    check("@register(X)\ndef f(a): pass\n", &["<module>", "f"], &[]);
    check("pytestmark = pytest.mark.skipif(X, reason='')\n", &["<module>"], &[]);
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
fn layout_that_changes_the_meaning_is_a_change() {
    check("def f():\n    if a:\n        b\n    c\n", "def f():\n    if a:\n        b\n        c\n", "f|f");
    check("def f():\n    x = 'a'\n", "def f():\n    x = 'a '\n", "f|f");
    check("def f():\n    return 1\n", "def f():\n    return\n    1\n", "f|f");
    check("x = notb\n", "x = not b\n", "<module>|<module>");
    check("x = 'a' 'b'\n", "x = 'a'\n'b'\n", "||__doc__ x");
    check("x = f'{a}'\n", "x = f'{a }'\n", "<module>|<module>");
}

#[test]
fn scopes_of_one_name_are_compared_in_their_order() {
    let before = "if a:\n    def f(): return 1\nelse:\n    def f(): return 2\n";
    check(before, "if a:\n    def f(): return 2\nelse:\n    def f(): return 1\n", "f|f");
    check(before, "if a:\n    def f(): return 1\nelse:\n    def f(): return 3\n", "f|f");
    check("def f(): 1; 2\ndef f(): 3\n", "def f(): 1\ndef f(): 2; 3\n", "f|f");
    check("def f(): pass\n", "class f: pass\n", "f||f");
}

fn hash(text: &str, name: &str) -> Option<String> {
    let found = function_hashes(text).unwrap();
    found.get(name).unwrap_or_else(|| panic!("{name} in {found:?}")).clone()
}

const ADDS: &str = "import x\n\ndef test_one(cart):\n    # adds\n    cart.add(3, \"a # b\")\n\n    assert cart.total(\n        1) == 3\n\nz = 1\n";

#[test]
fn a_hash_is_the_same_under_another_name_and_in_another_layout() {
    let moved = "class TestIt:\n    x = 1\n    @deco\n    async def test_other(cart):\n        cart.add(3, \"a # b\")   # adds\n        assert cart.total(1) == 3\n";
    assert!(hash(ADDS, "test_one").is_some());
    assert_eq!(hash(ADDS, "test_one"), hash(moved, "TestIt::test_other"));
    let differs = |from: &str, to: &str| {
        assert!(ADDS.contains(from));
        assert_ne!(hash(ADDS, "test_one"), hash(&ADDS.replace(from, to), "test_one"));
    };
    differs("== 3", "== 4");
    differs("    assert", "    if x:\n        assert");
    differs("(cart):", "(shop):");
    differs("a # b", "a  # b");
}

#[test]
fn functions_are_named_as_pytest_names_them() {
    let names = |text: &str| {
        let mut names: Vec<String> = function_hashes(text).unwrap().into_keys().collect();
        names.sort();
        names
    };
    let text = "def test_a():\n    text = '''\ndef test_b():\nclass C:\n'''\n    def inner(): pass\n    assert parse(text) == [1, 2]\ndef test_c(): assert something_long_enough == 1\n";
    assert_eq!(names(text), ["test_a", "test_c"]);
    assert_ne!(hash(text, "test_a"), hash(&text.replace("class C", "class D"), "test_a"));
    assert_eq!(
        names("class A:\n    class B:\n        def test_é(self): pass\n    if x:\n        def test_b(self): pass\n"),
        ["A::B::test_é", "A::test_b"]
    );
    // Of two with one name the later one runs.
    let twice =
        "def test_a():\n    assert first(1, 2, 3, 4, 5) == 1\ndef test_a():\n    assert second(1, 2, 3, 4) == 1\n";
    assert_eq!(hash(twice, "test_a"), hash(twice.split_inclusive("== 1\n").nth(1).unwrap(), "test_a"));
}

#[test]
fn a_function_that_is_too_short_has_no_hash_and_a_broken_source_no_functions() {
    assert_eq!(hash("def test_a():\n    assert f()\n", "test_a"), None);
    for text in
        ["def", "def (", "class \n def x(", "'''", "\"\\", "def é():\n\u{a0}x\n", "\tdef t(a):\n\t\treturn 'x\n"]
    {
        assert_eq!(function_hashes(text), None, "{text}");
    }
    assert_eq!(function_hashes("").map(|found| found.len()), Some(0));
}

/// A statement of a generated program. `WORD` in it can be edited.
#[derive(Clone, Debug)]
enum GeneratedStatement {
    Simple(&'static str),
    Block(&'static str, Vec<GeneratedStatement>),
    Scope(&'static str, &'static str, Vec<GeneratedStatement>),
}

fn statements() -> impl Strategy<Value = Vec<GeneratedStatement>> {
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
    let simple = proptest::sample::select(&SIMPLE).prop_map(GeneratedStatement::Simple).boxed();
    let one = simple.prop_recursive(4, 24, 4, |inner| {
        let some = proptest::collection::vec(inner, 1..4);
        let blocks = proptest::sample::select(&["if a:", "for i in (1,\n 2):", "with a as b:", "match x:"]);
        let heads = proptest::sample::select(&["def", "async def", "class", "@deco\ndef"]);
        let names = proptest::sample::select(&["f", "g", "H"]);
        prop_oneof![
            (blocks, some.clone()).prop_map(|(head, body)| GeneratedStatement::Block(head, body)),
            (heads, names, some).prop_map(|(head, name, body)| GeneratedStatement::Scope(head, name, body)),
        ]
    });
    proptest::collection::vec(one, 1..5)
}

/// Writes a program with the word at `target` edited, and the name of the scope that has this word.
fn write(
    statements: &[GeneratedStatement],
    indent: usize,
    scope: &str,
    kind: char,
    target: usize,
    state: &mut (usize, String, String),
) {
    let pad = "    ".repeat(indent);
    for statement in statements {
        match statement {
            GeneratedStatement::Simple(text) => {
                let word = if state.0 == target { "edited" } else { "word" };
                if state.0 == target {
                    state.2 = scope.to_owned();
                }
                state.0 += 1;
                state.1 += &format!("{pad}{}\n", text.replace("WORD", word));
            }
            GeneratedStatement::Block(head, body) => {
                let case = if *head == "match x:" { format!("{pad}    case _:\n") } else { String::new() };
                state.1 += &format!("{pad}{head}\n{case}");
                write(body, indent + 1 + usize::from(!case.is_empty()), scope, kind, target, state);
            }
            GeneratedStatement::Scope(head, name, body) => {
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
    fn any_text_is_survived(text in any::<String>(), bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (scopes(text.as_bytes()), scopes(&bytes), changed_functions(text.as_bytes(), &bytes), function_hashes(&text));
    }

    #[test]
    fn any_tokens_are_survived(text in "(def |class |f|:|\n|    |\t|\\(|\\)|\\{|\\}|'|\"|\"\"\"|f'|\\\\|#|@|x|1|;|,|lambda|ü|\r){0,60}") {
        let changed = changed_functions(text.as_bytes(), text.as_bytes());
        prop_assert!(changed.is_none_or(|change| change.functions.is_empty()));
        function_hashes(&text);
    }

    #[test]
    fn an_edit_changes_its_scope_alone(program in statements(), target in 0usize..40) {
        let written = |target| {
            let mut state = (0, String::new(), String::new());
            write(&program, 0, "<module>", 'm', target, &mut state);
            state
        };
        let (count, before, _) = written(usize::MAX);
        let (_, after, scope) = written(target % count);
        let functions = changed_functions(before.as_bytes(), after.as_bytes()).expect(&before).functions;
        let outlined = scopes(before.as_bytes()).unwrap();
        let mut named = outlined.iter().filter(|one| one.name == scope).peekable();
        let is_function = named.peek().is_some() && named.all(|one| !one.is_class);
        if is_function {
            prop_assert_eq!(functions.before.iter().collect::<Vec<_>>(), [&scope], "{}\n---\n{}", before, after);
            prop_assert_eq!(functions.after.iter().collect::<Vec<_>>(), [&scope]);
        } else {
            let is_seen = functions.touches(&scope) && !functions.is_empty();
            prop_assert!(is_seen, "{}\n---\n{}", before, after);
        }
    }
}
