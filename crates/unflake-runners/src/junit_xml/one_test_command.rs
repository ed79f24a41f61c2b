//! The user's command for one test: words of a shell command with placeholders. No shell is
//! started.

/// The placeholders.
const PLACES: [&str; 7] = ["id", "name", "name_regex", "classname", "suite", "file", "results"];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OneTestCommand {
    words: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Place(&'static str),
}

impl OneTestCommand {
    /// An error says why the command cannot be used.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words = split(text)?.iter().map(|word| pieces(word)).collect::<Result<Vec<_>, _>>()?;
        if words.is_empty() {
            return Err("it is empty".to_owned());
        }
        let template = Self { words };
        if !PLACES.iter().any(|place| *place != "results" && template.has(place)) {
            return Err("it does not name the test to run: {name}, {id}, {file}, {suite} or {classname}".to_owned());
        }
        Ok(template)
    }

    pub(crate) fn has(&self, place: &str) -> bool {
        self.words.iter().flatten().any(|piece| matches!(piece, Part::Place(found) if *found == place))
    }

    /// The words of the command, or the placeholder that has no value.
    pub(crate) fn filled(&self, value: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, &'static str> {
        let fill = |word: &Vec<Part>| {
            let text = |piece: &Part| match piece {
                Part::Text(text) => Ok(text.clone()),
                Part::Place(name) => value(name).ok_or(*name),
            };
            word.iter().map(text).collect::<Result<String, _>>()
        };
        self.words.iter().map(fill).collect()
    }
}

/// Splits words as a POSIX shell does: quotes and backslashes are honored, nothing is expanded.
fn split(text: &str) -> Result<Vec<String>, String> {
    let closes = |quote: &char| shell_words::split(&format!("{text}{quote}")).is_ok();
    match shell_words::split(text) {
        Ok(_) if text.len() % 2 != text.trim_end_matches('\\').len() % 2 => Err("it ends with a backslash".to_owned()),
        Ok(words) => Ok(words),
        Err(_) => Err(format!("a {} is not closed", ['\'', '"'].iter().find(|quote| closes(quote)).unwrap_or(&'"'))),
    }
}

/// `{name}` is a placeholder and `{{` a brace. Other braces, as in `${1%.t}`, stay as they are.
fn pieces(word: &str) -> Result<Vec<Part>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('{') {
            text.push('{');
            rest = after;
            continue;
        }
        let name = rest.split('}').next().unwrap_or_default();
        let is_word = !name.is_empty()
            && name.len() < rest.len()
            && name.chars().all(|one| one.is_ascii_lowercase() || one == '_');
        if !is_word {
            text.push('{');
            continue;
        }
        let Some(place) = PLACES.iter().find(|place| **place == name) else {
            let known: Vec<String> = PLACES.iter().map(|place| format!("{{{place}}}")).collect();
            return Err(format!("there is no {{{name}}}, there are {}; write {{{{ for a brace", known.join(", ")));
        };
        if !text.is_empty() {
            pieces.push(Part::Text(std::mem::take(&mut text)));
        }
        pieces.push(Part::Place(place));
        rest = &rest[name.len() + 1..];
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Part::Text(text));
    }
    Ok(pieces)
}

/// A regular expression for a name, in the notation that all runners share. Reports put ` > `
/// between the names of groups, and some runners match names without it.
pub(crate) fn regex_of(name: &str) -> String {
    let special = |character: char| r"\^$.[]|()*+?{}".contains(character);
    let escaped: String = name.chars().flat_map(|one| special(one).then_some('\\').into_iter().chain([one])).collect();
    escaped.replace(" > ", " (> )?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Vec<String> {
        let value = |name: &str| (name != "file").then(|| format!("<{name}>"));
        OneTestCommand::parse(template).unwrap().filled(value).unwrap()
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(filled(r#"a  'b c' "d \"e\" \n" f\ g '' {name}"#), ["a", "b c", r#"d "e" \n"#, "f g", "", "<name>"]);
        assert_eq!(filled("-run='^{name}$' x"), ["-run=^<name>$", "x"]);
    }

    #[test]
    fn what_is_filled_in_stays_in_its_word() {
        let template = OneTestCommand::parse("run {name}").unwrap();
        let words = template.filled(|_| Some("it's; rm -r \"x\" {id}".to_owned())).unwrap();
        assert_eq!(words, ["run", "it's; rm -r \"x\" {id}"]);
    }

    #[test]
    fn braces_that_are_no_places_stay() {
        assert_eq!(
            filled("sh -c '${1%_t} ${{name} {} {a b}' {suite}"),
            ["sh", "-c", "${1%_t} ${name} {} {a b}", "<suite>"]
        );
        assert_eq!(filled("{{{name}} {name"), ["{<name>}", "{name"]);
    }

    #[test]
    fn an_unusable_command_is_an_error() {
        let complaint = |text: &str| OneTestCommand::parse(text).unwrap_err();
        assert_eq!(complaint("run '{name}"), "a ' is not closed");
        assert_eq!(complaint("run \"{name}"), "a \" is not closed");
        assert_eq!(complaint("run {name} \\"), "it ends with a backslash");
        assert_eq!(complaint(" "), "it is empty");
        assert!(complaint("run {nmae}").starts_with("there is no {nmae}, there are {id}, {name}, "));
        assert!(complaint("run all {results}").starts_with("it does not name the test to run"));
        assert_eq!(OneTestCommand::parse("run {file}").unwrap().filled(|_| None), Err("file"));
    }

    #[test]
    fn names_become_patterns() {
        assert_eq!(regex_of("a.b (c) [1]? {x}"), r"a\.b \(c\) \[1\]\? \{x\}");
        assert_eq!(regex_of("shop > has a price"), "shop (> )?has a price");
        let pattern = regex_lite::Regex::new(&format!("^{}$", regex_of("1 > 0 (really)"))).unwrap();
        assert!(pattern.is_match("1 > 0 (really)") && pattern.is_match("1 0 (really)"));
    }
}
