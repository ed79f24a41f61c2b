//! Expressions in one line, the same for whatever layout they were written in.

use crate::syntax::Token;

pub(super) fn printed(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    let mut is_spaced = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| tokens[before].text);
        let is_binary = is_binary(token);
        let is_operand = !is_symbol(token.text) || token.parent == "unary_expression";
        let parts_words = is_operand && (before == ")" || !is_symbol(before));
        if !text.is_empty() && (is_spaced || is_binary || parts_words) {
            text.push(' ');
        }
        is_spaced = is_binary || matches!(token.text, "," | ";") || token.text == ">" && is_before_name(tokens, at);
        text.extend(token.text.chars().map(|one| if one.is_control() { ' ' } else { one }));
    }
    text
}

fn is_symbol(text: &str) -> bool {
    let is_number = |text: &str| text.trim_start_matches('.').starts_with(|first: char| first.is_ascii_digit());
    text.starts_with(|first: char| first.is_ascii_punctuation() && !"_$\"'".contains(first)) && !is_number(text)
}

fn is_binary(token: &Token<'_>) -> bool {
    let plain = ["(", ")", "[", "]", "{", "}", ",", ";", ".", "@", "::", "!", "~", "++", "--", "..."];
    let is_unary = ["unary_expression", "type_arguments", "type_parameters", "wildcard", "type_bound"];
    is_symbol(token.text) && !plain.contains(&token.text) && !is_unary.contains(&token.parent)
}

/// `List<String> all`, but `Foo.<String>of()`.
fn is_before_name(tokens: &[Token<'_>], at: usize) -> bool {
    let is_name = tokens.get(at + 1).is_some_and(|next| !is_symbol(next.text));
    is_name && tokens.get(at + 2).is_none_or(|behind| behind.text != "(")
}
