//! Values of the settings that belong to one runner, as they travel to the driver.

/// Names and values; a name may occur several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunnerOptions(Vec<(String, String)>);

impl RunnerOptions {
    pub fn push(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    /// As arguments of the driver, each in one word: a value may begin with a dash.
    pub fn arguments(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(name, value)| format!("--option={name}={value}"))
    }

    /// From `name=value` of such arguments.
    pub fn parse(arguments: &[String]) -> Self {
        Self::from_iter(arguments.iter().filter_map(|text| text.split_once('=')))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option that is given once; empty without one.
    pub(crate) fn one(&self, name: &str) -> &str {
        self.0.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value)
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for RunnerOptions {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for RunnerOptions {
    fn from(pairs: [(&str, &str); N]) -> Self {
        pairs.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_the_driver_unchanged() {
        let options = RunnerOptions::from([("results", "a=b"), ("one-test", "-x {name}"), ("results", "")]);
        let values: Vec<String> =
            options.arguments().map(|word| word.strip_prefix("--option=").unwrap().to_owned()).collect();
        assert_eq!(RunnerOptions::parse(&values), options);
        assert_eq!(options.all("results").collect::<Vec<_>>(), ["a=b", ""]);
    }
}
