use std::path::Path;

#[test]
fn tests_start_in_the_directory_of_their_package() {
    assert!(Path::new("src/main.rs").is_file());
}
