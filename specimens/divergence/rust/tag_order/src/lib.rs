//! Clouds of tags.
mod count;

/// The tag that stands in the middle of the cloud.
pub fn main_tag(text: &str) -> Option<String> {
    let (mut most, mut main) = (0, None);
    for (tag, count) in count::tags(text) {
        if count > most {
            (most, main) = (count, Some(tag));
        }
    }
    main
}
