use std::collections::HashMap;

/// How often each word is a tag.
pub fn tags(text: &str) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace().filter_map(|word| word.strip_prefix('#')) {
        *counts.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    counts
}
