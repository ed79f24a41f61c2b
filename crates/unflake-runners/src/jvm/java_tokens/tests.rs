use proptest::prelude::*;

use super::*;

fn texts(source: &str) -> Vec<&str> {
    tokens(source).unwrap().into_iter().map(|token| token.text).collect()
}

#[test]
fn comments_and_layout_are_no_words_and_texts_are_one() {
    assert_eq!(texts("a /* b\n */ c // d\n+ e"), ["a", "c", "+", "e"]);
    assert_eq!(texts(r#""// no" + '"' + "\"" + 'x'"#), [r#""// no""#, "+", "'\"'", "+", r#""\"""#, "+", "'x'"]);
    assert_eq!(
        texts("\"\"\"\n a \"quoted\" {\n \\\"\"\" \"\"\" + 1"),
        ["\"\"\"\n a \"quoted\" {\n \\\"\"\" \"\"\"", "+", "1"]
    );
    assert_eq!(
        texts("1.5e-3 - 0x1F+1 .5f 1_000L a.b 1.e"),
        ["1.5e-3", "-", "0x1F", "+", "1", ".5f", "1_000L", "a", ".", "b", "1.e"]
    );
    assert_eq!(texts("x>>>=1 a->b C::d i++"), ["x", ">>>=", "1", "a", "->", "b", "C", "::", "d", "i", "++"]);
}

#[test]
fn lines_are_counted_as_compilers_count_them() {
    let lines: Vec<u32> =
        tokens("a\nb\r\nc\rd /* \n */ e \"\"\"\n\n\"\"\" f").unwrap().iter().map(|one| one.line).collect();
    assert_eq!(lines, [1, 2, 3, 4, 5, 5, 7]);
}

#[test]
fn what_does_not_end_or_hides_its_structure_is_refused() {
    for source in
        ["\"a", "\"a\nb\"", "'", "/* a", "\"\"\" a", "String s = \"\\u0022;", "\\uuu007b", "'\\u12'", "// \\u000a x"]
    {
        assert_eq!(tokens(source), None, "{source}");
    }
    for source in ["\"\\u00e4\\u0041\" '\\u0000'", r#""\\u0022 \\\\u0022""#, "// \\u0041"] {
        assert!(tokens(source).is_some(), "{source}");
    }
}

#[test]
fn layout_does_not_change_what_is_printed() {
    let print = |source: &str| printed(&tokens(source).unwrap());
    for source in [
        "assertEquals(3, cart.size() + 1)",
        "assertThat(names).containsExactly(\"a\", -1).isEqualTo(x -> x > 1 && !y)",
        "Assertions.<String>assertThat(new ArrayList<Map<String, int[]>>(), (List<?>) other[0])",
        "assertTrue(a < b == MOST < 1)",
        "check(List<String> all, Class<?>...types)",
    ] {
        assert_eq!(print(source), source);
        assert_eq!(print(&source.replace(' ', "\n\t /* why */  ")), source);
        let tight: String = source.split(' ').collect();
        // Two words need something between them.
        if !source.contains("new ") && !source.contains("> all") {
            assert_eq!(print(&tight), source);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_taken_apart_without_losing_or_inventing_anything(source in "[a\"'/*\\\\u0-9{}()<>.\n\r é;@-]{0,60}") {
        if let Some(found) = tokens(&source) {
            let mut rest = source.as_str();
            let mut line = 1;
            for token in &found {
                let at = rest.find(token.text).expect("it is there, behind the one before");
                rest = &rest[at + token.text.len()..];
                prop_assert!(token.line >= line && !token.text.is_empty());
                line = token.line;
            }
            printed(&found);
        }
    }

    #[test]
    fn what_is_printed_is_read_as_the_same_words(words in proptest::collection::vec("[a-zA-Z]{1,4}|[0-9]{1,3}|[(),.;<>+!=-]|\"[a-z ]{0,4}\"", 0..20)) {
        let source = words.join(" ");
        let found = tokens(&source).unwrap();
        let print = printed(&found);
        prop_assert!(!print.contains('\n'));
        // Symbols may grow together where nothing stands between them; what they are made of stays.
        let letters = |text: &str| text.chars().filter(|one| !one.is_whitespace()).collect::<String>();
        prop_assert_eq!(letters(&print), letters(&source));
        let again = words.join("\n");
        prop_assert_eq!(printed(&tokens(&again).unwrap()), print);
    }
}
