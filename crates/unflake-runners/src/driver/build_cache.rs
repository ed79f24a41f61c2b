//! What the drivers of one run have in common. Each world that tests are to run in has a driver, and all of them are outside of it: a build
//! tool hears the same words from each, in the same directory and with the same variables, and would hand over the same to each. So that is
//! kept for as long as the run lasts, and so is which tests there are.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::driver::orders::Workshop;
use crate::driver::suite::CannotList;

/// Has a build tool do its work, and hand over into a directory that it is given; the driver of another world takes what it has handed over
/// before. The directory is not only ours: nothing is to be written there.
pub(crate) fn handed_over(
    tool: &str,
    command: &[String],
    workshop: &Workshop<'_>,
    build: impl FnOnce(&Path) -> Result<(), CannotList>,
) -> Result<PathBuf, CannotList> {
    let heard = hash(&(command, &workshop.here, variables(workshop)));
    let kept = workshop.shared.map(|shared| shared.join(format!("{tool}-{heard:016x}")));
    if let Some(kept) = kept.as_ref().filter(|kept| workshop.elsewhere && kept.is_dir()) {
        return Ok(kept.clone());
    }
    let own = workshop.side.join(format!("{tool}-{}", std::process::id()));
    fs::create_dir_all(&own).map_err(|error| CannotList::usage(format!("{}: {error}", own.display())))?;
    build(&own)?;
    // It is there as a whole or not at all. Whoever comes too late has its own.
    Ok(kept.filter(|kept| fs::rename(&own, kept).is_ok()).unwrap_or(own))
}

/// What the tool sees of the environment.
fn variables(workshop: &Workshop<'_>) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<OsString, OsString> = env::vars_os().collect();
    for (name, value) in workshop.world {
        match value {
            Some(value) => all.insert(name.into(), value.into()),
            None => all.remove(&OsString::from(name)),
        };
    }
    all
}

/// A file for something that follows from `what` alone.
pub(crate) fn place_for(name: &str, what: &impl Hash, workshop: &Workshop<'_>) -> Option<PathBuf> {
    Some(workshop.shared?.join(format!("{name}-{:016x}", hash(what))))
}

/// Keeps it for others. Where that cannot be done they find it out themselves.
pub(crate) fn keep(place: &Path, what: &impl Serialize) {
    let unfinished = place.with_extension(std::process::id().to_string());
    let bytes = serde_json::to_vec(what).unwrap_or_default();
    let _ = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, place));
}

/// What another has kept.
pub(crate) fn kept<T: DeserializeOwned>(place: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(place).ok()?).ok()
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_tool_is_asked_again_only_where_it_would_hear_something_else() {
        let run = tempfile::tempdir().unwrap();
        let [first, other] = ["first", "other"].map(|name| run.path().join(name));
        [&first, &other].into_iter().for_each(|place| fs::create_dir(place).unwrap());
        let started = Cell::new(0);
        let hand_over = |side: &Path, elsewhere: bool, words: &str, variable: &str| {
            let world = [("BUILD_TOOL_OPTIONS".to_owned(), Some(variable.to_owned()))].into();
            let workshop = Workshop {
                side,
                shared: Some(&first),
                elsewhere,
                world: &world,
                here: "/p".into(),
                tracing: None,
                cache: side,
                layers: None,
                assertions: None,
            };
            let command: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let desk = handed_over("tool", &command, &workshop, |desk| {
                started.set(started.get() + 1);
                fs::write(desk.join("words"), words).map_err(|error| CannotList::usage(error.to_string()))
            });
            assert_eq!(fs::read_to_string(desk.unwrap().join("words")).unwrap(), words);
            started.get()
        };
        assert_eq!(hand_over(&first, false, "mvn test", "a"), 1);
        assert_eq!(hand_over(&other, true, "mvn test", "a"), 1);
        assert_eq!(hand_over(&other, true, "mvn -o test", "a"), 2);
        assert_eq!(hand_over(&other, true, "mvn test", "b"), 3);
        // Nobody takes what one in our own world has to find out.
        assert_eq!(hand_over(&first, false, "mvn test", "a"), 4);
    }

    #[test]
    fn what_was_kept_is_found_and_a_half_of_it_is_not() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("listed-1");
        assert_eq!(kept::<Vec<String>>(&path), None);
        keep(&path, &vec!["a".to_owned()]);
        assert_eq!(kept::<Vec<String>>(&path), Some(vec!["a".to_owned()]));
        fs::write(&path, "[\"a").unwrap();
        assert_eq!(kept::<Vec<String>>(&path), None);
    }
}
