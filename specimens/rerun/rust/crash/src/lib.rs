//! The categories of a shop, each with a parent.
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Catalogue {
    parents: BTreeMap<String, String>,
}

impl Catalogue {
    pub fn put(&mut self, category: &str, parent: &str) {
        self.parents.insert(category.to_owned(), parent.to_owned());
    }

    /// From the top to `category`, such as `clothes > shoes > boots`.
    pub fn path(&self, category: &str) -> String {
        match self.parents.get(category) {
            Some(parent) => self.path(parent) + " > " + category,
            None => category.to_owned(),
        }
    }

    pub fn children(&self, category: &str) -> Vec<&str> {
        self.parents.iter().filter(|(_, parent)| *parent == category).map(|(child, _)| child.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clothes() -> Catalogue {
        let mut catalogue = Catalogue::default();
        catalogue.put("boots", "shoes");
        catalogue.put("shoes", "clothes");
        catalogue
    }

    #[test]
    fn path_from_the_top() {
        assert_eq!(clothes().path("boots"), "clothes > shoes > boots");
    }

    #[test]
    fn categories_that_contain_each_other() {
        let mut catalogue = clothes();
        catalogue.put("clothes", "boots");

        assert_eq!(catalogue.path("boots"), "clothes > shoes > boots");
    }

    #[test]
    fn children_of_a_category() {
        assert_eq!(clothes().children("clothes"), ["shoes"]);
    }

    #[test]
    fn the_top_has_a_short_path() {
        assert_eq!(clothes().path("clothes"), "clothes");
    }
}
