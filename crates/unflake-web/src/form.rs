//! Decodes names and values of query strings and forms.

/// Parses `a=1&b=two+words%21`. Invalid UTF-8 becomes U+FFFD.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name, true), decoded(value, true))
        })
        .collect()
}

/// Decodes `%21` to `!`; an incomplete escape is kept.
pub(crate) fn decoded(text: &str, plus_is_blank: bool) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |offset: usize| bytes.get(at + offset).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[at], digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
                continue;
            }
            (b'+', ..) if plus_is_blank => plain.push(b' '),
            (byte, ..) => plain.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_are_read_as_browsers_write_them() {
        let read = pairs("test=a%3A%3Ab%5Bx%20y%5D&reason=slow+server&empty=&bare&&bad=%zz%4");
        let read: Vec<(&str, &str)> = read.iter().map(|(name, value)| (&**name, &**value)).collect();
        let expected =
            [("test", "a::b[x y]"), ("reason", "slow server"), ("empty", ""), ("bare", ""), ("bad", "%zz%4")];
        assert_eq!(read, expected);
        assert_eq!(decoded("/a+b%ff", false), "/a+b\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in ".*") {
            pairs(&text);
        }
    }
}
