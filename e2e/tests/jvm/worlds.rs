//! Which condition of its world makes a test in a JVM fail.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{cached, compiled, turn};
use e2e::Story;

/// A Maven that writes down that it was started.
const COUNTED: &str = "#!/bin/sh\necho started >> \"${0%/*}/starts\"\nexec mvn \"$@\"\n";

fn counted_maven(place: &Path) -> (PathBuf, PathBuf) {
    let folder = place.join("counted");
    let (maven, starts) = (folder.join("mvn"), folder.join("starts"));
    fs::create_dir(&folder).unwrap();
    fs::write(&maven, COUNTED).unwrap();
    fs::set_permissions(&maven, Permissions::from_mode(0o755)).unwrap();
    (maven, starts)
}

#[test]
fn the_time_zone_is_blamed_in_which_it_fails_and_maven_builds_once_for_all_worlds() {
    let _turn = turn();
    let story = Story::copy_of(&compiled("jvm-factors"));
    let call = story.unflake(["factors", "beganWithTheEpoch", "--factor", "time-zone", "--json"]);
    let (maven, starts) = counted_maven(story.place());
    let call = call.arg(story.place().join("found.json")).arg("--").arg(maven).args(["-o", "-B", "test"]);
    let ran = cached(call).end();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let [finding] = ran.list("findings") else { panic!("{:?}", ran.list("findings")) };
    assert_eq!((&finding["kind"], &finding["technique"]), (&"time-zone".into(), &"factor".into()), "{finding}");
    let failed = |world: &&serde_json::Value| world["rate"]["seen"] != 0;
    let plan = finding["plan"].as_array().unwrap();
    let failing: Vec<&str> = plan.iter().filter(failed).filter_map(|world| world["name"].as_str()).collect();
    assert_eq!(failing, ["time-zone=Pacific/Kiritimati", "time-zone=Etc/GMT+12", "time-zone=America/New_York"]);
    assert!(plan.len() > 5, "{plan:?}");
    assert_eq!(fs::read_to_string(starts).unwrap(), "started\n");
}
