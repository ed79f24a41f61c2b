//! Tests of `java`.

use proptest::prelude::*;

use super::*;

const CART: &str = r#"package com.acme;

import static org.junit.jupiter.api.Assertions.*;

@Tag("a{b") @RunWith(Parameterized.class)
class CartTest extends Base<Map<String, int[]>> {
    private final Check check = new Check() { public void all() { assertTrue(false); } };
    static { assertTrue(true); }

    @Test(timeout = 5) <T> void total(T first, int... rest) throws Exception {
        assertEquals(3, cart.size());   // assertEquals(4, x)
        assertThat(cart.items())
            .as("items }")
            .hasSize(3)
            .contains(
                "a");
        run(() -> assertEquals(3, cart.size()));
        new Check() { void assertAll(int x) { Assert.assertNull(x); } };
        if (cart.isEmpty()) fail("no");
    }

    @Nested class Inner {
        void deep() { org.junit.Assert.assertTrue("why", (a ? b : c).d[1].e()); }
    }

    enum Kind { ONE(1) { int x() { return 1; } }, TWO; int x() { return 0; } }
    record Pair(@Size({1, 2}) int a) { void check() { assertTrue(a > 0); } }
    @interface Mark { int value() default 1; }
}
"#;

fn shown(source: &str) -> Vec<String> {
    let shown = |site: JavaAssertion| format!("{} {} {}: {}", site.line, site.function, site.ordinal, site.expression);
    assertion_sites("CartTest.java", source).unwrap().into_iter().map(shown).collect()
}

/// A method with this body.
fn method(body: &str) -> String {
    format!("class A {{ void a() {{\n{body}\n}} }}")
}

/// The expressions of the assertions in a method with this body.
fn expressions(body: &str) -> Option<Vec<String>> {
    let sites = assertion_sites("A.java", &method(body))?;
    Some(sites.into_iter().map(|site| site.expression).collect())
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    assert_eq!(expressions(body).unwrap(), expected, "{body}");
}

#[test]
fn assertions_have_the_line_that_a_stack_trace_shows() {
    assert_eq!(
        shown(CART),
        [
            "11 CartTest.total 0: assertEquals(3, cart.size())",
            "12 CartTest.total 0: assertThat(cart.items())",
            "13 CartTest.total 0: assertThat(cart.items()).as(\"items }\")",
            "14 CartTest.total 0: assertThat(cart.items()).as(\"items }\").hasSize(3)",
            "15 CartTest.total 0: assertThat(cart.items()).as(\"items }\").hasSize(3).contains(\"a\")",
            "17 CartTest.total 1: assertEquals(3, cart.size())",
            "18 CartTest.total 0: Assert.assertNull(x)",
            "19 CartTest.total 0: fail(\"no\")",
            "23 CartTest$Inner.deep 0: org.junit.Assert.assertTrue(\"why\", (a ? b : c).d[1].e())",
            "27 CartTest$Pair.check 0: assertTrue(a > 0)",
        ]
    );
}

#[test]
fn lines_are_counted_as_compilers_count_them() {
    let body = "assertA(1);\nassertA(2);\r\nassertA(3);\rassertA(4); /* \n */ assertA(\"\"\"\n\n\"\"\", 5); assertA(6); // \r assertA(7);";
    let lines: Vec<u32> = assertion_sites("A.java", &method(body)).unwrap().iter().map(|one| one.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 8, 9]);
}

#[test]
fn only_calls_of_methods_are_assertions() {
    check(
        "assertTrue(a); throw assertFailed(b); assert assertSame(c); this.<T>assertNull(d);",
        &["assertTrue(a)", "assertFailed(b)", "assertSame(c)", "this.<T>assertNull(d)"],
    );
    check("assert (a); new assertTrue(b); Foo::assertTrue; fails(c); if (assertTrue) (a).b();", &[]);
    check(
        "then(a).b(); y = x.thenThrownBy(a).c; new Foo<>(1) { }.assertTrue(a); a.x[then(b)].c();",
        &["then(a).b()", "new Foo<>(1){}.assertTrue(a)"],
    );
    check(
        "int a = switch (b) { case 1 -> { assertTrue(c); yield 1; } default -> assertThat(d).e(); };",
        &["assertTrue(c)", "assertThat(d)", "assertThat(d).e()"],
    );
    check(
        "if (x instanceof Pair(var a, int b) && a > b) assertTrue(\"\"\"\n  fail(\"1\")\\\n  \"\"\" + a);",
        &["assertTrue(\"\"\"   fail(\"1\")\\   \"\"\" + a)"],
    );
}

#[test]
fn a_body_has_the_same_hash_under_another_name_and_in_another_layout() {
    let body = |source: &str| assertion_sites("A.java", source).unwrap()[0].body.clone();
    let one = "class A { @Test void one(int a) throws B { assertTrue(a == 1); } }";
    let moved = "class B { class C {\n/** Why. */ public static void two(int a) {\n assertTrue( // so\n a==1);\n} } }";
    assert_eq!(body(one), body(moved));
    assert_ne!(body(one), body(&one.replace("== 1", "== 2")));
    assert_ne!(body(one), body(&one.replace("int a", "long a")));
    // Tokens are not joined.
    assert_ne!(body(&method("assertTrue(ab, c);")), body(&method("assertTrue(a, bc);")));
}

#[test]
fn methods_of_one_name_count_together() {
    let source = "class A { void a() { assertTrue(x); } void a(int b) { assertTrue(x); assertTrue( x ); } }";
    assert_eq!(shown(source).len(), 3);
    assert!(shown(source)[2].contains("A.a 2: assertTrue(x)"), "{:?}", shown(source));
}

#[test]
fn long_expressions_are_cut_and_stay_different() {
    let one = |end: &str| expressions(&format!("assertTrue(\"{}{end}\");", "x".repeat(5000))).unwrap().remove(0);
    assert!(one("1").chars().count() < 1050);
    assert_ne!(one("1"), one("2"));
    let many = format!("assertTrue(a{});", "+ a".repeat(2000));
    check(&many, &[]);
    let chain = |calls: usize| expressions(&format!("assertThat(a){};", ".b()".repeat(calls))).unwrap().len();
    assert_eq!((chain(100), chain(102)), (101, 101));
}

#[test]
fn a_source_that_has_two_readings_has_no_assertions() {
    for source in ["class A { void a() { assertTrue(x); }", "class A { void a() { assertTrue(x]; } }", "class A } {"] {
        assert_eq!(assertion_sites("A.java", source), None, "{source}");
    }
    let deep = format!("{}{}", "class A { ".repeat(1000), "}".repeat(1000));
    assert_eq!(assertion_sites("A.java", &deep), None);
    for rest in
        ["\"a", "\"a\nb\";", "'", "/* a", "\"\"\" a", "String s = \"\\u0022;", "\\uuu007b", "'\\u12';", "// \\u000a x"]
    {
        assert_eq!(expressions(&format!("assertTrue(x); {rest}")), None, "{rest}");
    }
    for rest in ["a = \"\\u00e4\\u0041\" + '\\u0000';", r#"a = "\\u0022 \\\\u0022";"#, "// \\u0041"] {
        check(&format!("assertTrue(x); {rest}"), &["assertTrue(x)"]);
    }
}

#[test]
fn comments_and_layout_do_not_change_an_expression() {
    check("assertTrue(a /* b\n */ , // d\n+ e);", &["assertTrue(a, +e)"]);
    check(r#"assertTrue("// no" + '"' + "\"" + 'x');"#, &[r#"assertTrue("// no" + '"' + "\"" + 'x')"#]);
    check("assertTrue(1.5e-3-0x1F+1, .5f, -1_000L);", &["assertTrue(1.5e-3 - 0x1F + 1, .5f, -1_000L)"]);
    for expression in [
        "assertEquals(3, cart.size() + 1)",
        "assertAll(names.isEqualTo(x -> x > 1 && !y), -1, (byte) -1, i++ < 2, (a) + 1)",
        "Assertions.<String>assertAll(new ArrayList<Map<String, int[]>>(), (List<?>) other[0])",
        "assertTrue(a < b == MOST < 1)",
        "assertAll(new A(){void b(List<String> all, Class<?>...types){return -1; }})",
    ] {
        check(&format!("{expression};"), &[expression]);
        check(&format!("{};", expression.replace(' ', "\n\t /* why */  ")), &[expression]);
        // Two words need something between them.
        if !expression.contains("new ") {
            check(&format!("{};", expression.replace(' ', "")), &[expression]);
        }
    }
}

fn expression() -> impl Strategy<Value = String> {
    let atom = "[a-z]{1,2}|[A-Z][a-z]|[1-9][0-9]{0,2}|\"[a-z]{0,4}\"|'[a-z]'|true|this";
    let not_keyword = |text: &String| !["do", "if"].contains(&text.as_str());
    atom.prop_filter("a keyword", not_keyword).prop_recursive(4, 24, 3, |inner| {
        let operator = proptest::sample::select(&["+", "-", "<", ">", ">>", ">>>", "==", "&&"]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, by, b)| format!("{a} {by} {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("f({a} , {b})")),
            inner.clone().prop_map(|a| format!("( - ({a}) )")),
            inner.clone().prop_map(|a| format!("(Map<T, List<U>>) ({a}) [0]")),
            inner.clone().prop_map(|a| format!("new M < N < ? > > ({a})")),
            inner.clone().prop_map(|a| format!("(x -> {{ return ! ({a}); }})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("(c ? {a} : {b})")),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_survived(source in "[a\"'/*\\\\u0-9{}()<>.\n\r é;@-]{0,60}") {
        let _ = (assertion_sites("A.java", &source), expressions(&source));
    }

    #[test]
    fn any_tokens_are_survived(words in proptest::collection::vec(
        "class|enum|record|interface|new|assertTrue|assertThat|then|fail|A|b|[(){}\\[\\];=.,@<>+]|->|::|\"x\"|\n", 0..60)
    ) {
        let source = words.join(" ");
        for source in [method(&source), source] {
            for site in assertion_sites("A.java", &source).into_iter().flatten() {
                prop_assert!(site.line as usize <= source.lines().count());
                prop_assert!(site.expression.contains(&site.called));
            }
        }
    }

    #[test]
    fn layout_changes_nothing_but_lines(gaps in proptest::collection::vec("[ \n\t]| /\\* \\{ \\*/ |//\\)\n", 300)) {
        let mut gaps = gaps.iter().cycle();
        let tree = syntax::parse(&tree_sitter_java::LANGUAGE.into(), CART).unwrap();
        let steps = syntax::steps(CART, tree.root_node(), &LITERALS).unwrap();
        let tokens = steps.iter().filter_map(Step::token);
        let spread: String = tokens.flat_map(|token| [token.text, gaps.next().unwrap().as_str()]).collect();
        let plain = |source: &str| {
            let without_line = |site: JavaAssertion| JavaAssertion { line: 0, ..site };
            assertion_sites("CartTest.java", source).unwrap().into_iter().map(without_line).collect::<Vec<_>>()
        };
        prop_assert_eq!(plain(&spread), plain(CART));
    }

    #[test]
    fn an_expression_is_printed_whole_and_read_again_as_the_same(text in expression()) {
        let source = format!("assertTrue( {text} )");
        let first = |source: &str| expressions(&format!("{source};")).expect(source).remove(0);
        let printed = first(&source);
        let letters = |text: &str| text.chars().filter(|one| !one.is_whitespace()).collect::<String>();
        prop_assert_eq!(letters(&printed), letters(&source));
        prop_assert_eq!(&first(&printed), &printed);
        prop_assert_eq!(&first(&source.replace(' ', "\n")), &printed);
    }
}
