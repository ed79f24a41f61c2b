use tagcloud::main_tag;

#[test]
fn main_tag_is_the_first_of_the_most_frequent() {
    assert_eq!(main_tag("#soup for a #summer evening").as_deref(), Some("soup"));
}

#[test]
fn a_text_without_tags_has_none() {
    assert_eq!(main_tag("nothing"), None);
}
