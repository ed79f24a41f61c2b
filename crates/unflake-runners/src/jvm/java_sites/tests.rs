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

fn told(source: &str) -> Vec<String> {
    let told = |site: Site| format!("{} {} {}: {}", site.line, site.function, site.ordinal, site.expression);
    sites("CartTest.java", source).unwrap().into_iter().map(told).collect()
}

#[test]
fn assertions_are_found_where_a_stack_would_show_them() {
    assert_eq!(
        told(CART),
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
fn a_body_is_the_same_under_another_name_and_in_another_layout() {
    let body = |source: &str| sites("A.java", source).unwrap()[0].body.clone();
    let one = "class A { @Test void one(int a) throws B { assertTrue(a == 1); } }";
    let moved = "class B { class C {\n/** Why. */ public static void two(int a) {\n assertTrue( // so\n a==1);\n} } }";
    assert_eq!(body(one), body(moved));
    assert_ne!(body(one), body(&one.replace("== 1", "== 2")));
    assert_ne!(body(one), body(&one.replace("int a", "long a")));
    // Words do not grow together.
    assert_ne!(
        body("class A { void a() { assertTrue(ab, c); } }"),
        body("class A { void a() { assertTrue(a, bc); } }")
    );
}

#[test]
fn methods_of_one_name_count_together() {
    let source = "class A { void a() { assertTrue(x); } void a(int b) { assertTrue(x); assertTrue( x ); } }";
    assert_eq!(told(source).len(), 3);
    assert!(told(source)[2].contains("A.a 2: assertTrue(x)"), "{:?}", told(source));
}

#[test]
fn long_expressions_are_shortened_and_stay_different() {
    let source = |end: &str| format!("class A {{ void a() {{ assertTrue(\"{}{end}\"); }} }}", "x".repeat(5000));
    let one = |end: &str| sites("A.java", &source(end)).unwrap()[0].expression.clone();
    assert!(one("1").chars().count() < 1050);
    assert_ne!(one("1"), one("2"));
}

#[test]
fn what_cannot_be_read_for_certain_has_no_assertions_at_all() {
    for source in ["class A { void a() { assertTrue(x); }", "class A { void a() { assertTrue(x]; } }", "class A } {"] {
        assert_eq!(sites("A.java", source), None, "{source}");
    }
    let deep = format!("{}{}", "class A { ".repeat(1000), "}".repeat(1000));
    assert_eq!(sites("A.java", &deep), None);
}

proptest! {
    #[test]
    fn any_source_is_read_without_a_panic(words in proptest::collection::vec(
        "class|enum|record|interface|new|assertTrue|assertThat|then|fail|A|b|[(){}\\[\\];=.,@<>+]|->|::|\"x\"|\n", 0..60)
    ) {
        let source = words.join(" ");
        for site in sites("A.java", &source).into_iter().flatten() {
            prop_assert!(site.line as usize <= source.lines().count());
            prop_assert!(site.expression.contains(&site.called));
        }
    }

    #[test]
    fn layout_changes_nothing_but_lines(gaps in proptest::collection::vec("[ \n\t]| /\\* \\{ \\*/ |//\\)\n", 300)) {
        let mut gaps = gaps.iter().cycle();
        let spread: String =
            tokens(CART).unwrap().iter().flat_map(|token| [token.text, gaps.next().unwrap().as_str()]).collect();
        let plain = |source: &str| {
            let without_line = |site: Site| Site { line: 0, ..site };
            sites("CartTest.java", source).unwrap().into_iter().map(without_line).collect::<Vec<_>>()
        };
        prop_assert_eq!(plain(&spread), plain(CART));
    }
}
