//! Decodes names and values of query strings and forms.

use percent_encoding::percent_decode_str;

/// Parses `a=1&b=two+words%21`. Invalid UTF-8 becomes U+FFFD.
pub(crate) fn parse_pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(&name.replace('+', " ")), decode(&value.replace('+', " ")))
        })
        .collect()
}

/// Decodes `%21` to `!`; an incomplete escape is kept.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decodes_forms_of_browsers() {
        let read = parse_pairs("test=a%3A%3Ab%5Bx%20y%5D&reason=slow+server&empty=&bare&&bad=%zz%4");
        let read: Vec<(&str, &str)> = read.iter().map(|(name, value)| (&**name, &**value)).collect();
        let expected =
            [("test", "a::b[x y]"), ("reason", "slow server"), ("empty", ""), ("bare", ""), ("bad", "%zz%4")];
        assert_eq!(read, expected);
        assert_eq!(decode("/a+b%ff"), "/a+b\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_text_is_decoded(text in ".*") {
            parse_pairs(&text);
        }
    }
}
