//! Hashes of the code of functions, by which a test is found again under another name.

use std::collections::HashMap;

use super::PythonSource;
use crate::syntax::{self, Step};

/// Functions with fewer characters than this are too often the same by chance.
const SHORTEST: usize = 24;

/// Functions by name, below classes as pytest joins them: `TestCart::test_total`. Each has a hash of
/// its parameters and its body, which name, place, decorators, comments and layout do not change, or
/// None if it is too short. Of two with the same name the later one counts, as it does when they run.
pub fn function_hashes(source: &str) -> Option<HashMap<String, Option<String>>> {
    let source = PythonSource::read(source.as_bytes())?;
    let steps = source.steps()?;
    let (mut found, mut classes, mut at) = (HashMap::new(), Vec::new(), 0);
    while let Some(step) = steps.get(at) {
        match step {
            Step::Enter("class_definition", node) => {
                classes.push(syntax::field(&source.text, *node, "name")?);
            }
            Step::Leave("class_definition", _) => {
                classes.pop();
            }
            Step::Enter("function_definition", node) => {
                let name = node.child_by_field_name("name")?;
                let is_name = |step: &Step<'_>| matches!(step, Step::Token(token) if token.node == name);
                let is_end = |step: &Step<'_>| matches!(step, Step::Leave(_, end) if end == node);
                let begin = at + steps[at..].iter().position(is_name)? + 1;
                at = begin + steps[begin..].iter().position(is_end)?;
                let names = classes.iter().copied().chain([&source.text[name.byte_range()]]);
                found.insert(names.collect::<Vec<_>>().join("::"), hash(&steps[begin..at]));
            }
            _ => {}
        }
        at += 1;
    }
    Some(found)
}

fn hash(steps: &[Step<'_>]) -> Option<String> {
    let mut code = String::new();
    steps.iter().for_each(|step| step.write_to(&mut code));
    let length = code.chars().filter(|one| !one.is_whitespace() && !one.is_control()).count();
    (length >= SHORTEST).then(|| syntax::hash(&code))
}
