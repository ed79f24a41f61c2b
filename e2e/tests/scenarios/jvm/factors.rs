//! `unflake factors` on Java tests.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::turn;
use e2e::Sandbox;

/// A Maven that records each start.
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
fn the_time_zone_is_found_and_maven_builds_once() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("environment/java/leap_day_and_time_zone");
    let call = sandbox.unflake(["factors", "beganWithTheEpoch", "--factor", "time-zone", "--for", "0"]).json();
    let (maven, starts) = counted_maven(sandbox.root());
    let call = call.arg("--").arg(maven).args(["-o", "-B", "test"]);
    let result = call.finish();
    assert_eq!(result.code, 1, "{}", result.stderr);
    let [finding] = result.list("findings") else { panic!("{:?}", result.list("findings")) };
    assert_eq!((&finding["kind"], &finding["technique"]), (&"time-zone".into(), &"factor".into()), "{finding}");
    let failed = |world: &&serde_json::Value| world["rate"]["seen"] != 0;
    let plan = finding["plan"].as_array().unwrap();
    let failing: Vec<&str> = plan.iter().filter(failed).filter_map(|world| world["name"].as_str()).collect();
    assert_eq!(failing, ["time-zone=Pacific/Kiritimati", "time-zone=Etc/GMT+12", "time-zone=America/New_York"]);
    assert!(plan.len() > 5, "{plan:?}");
    assert_eq!(fs::read_to_string(starts).unwrap(), "started\n");
}
