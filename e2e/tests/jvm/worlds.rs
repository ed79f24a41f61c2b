//! Which condition of its world makes a test in a JVM fail.

use super::{cached, compiled, turn};
use e2e::Story;

#[test]
fn the_time_zone_is_blamed_in_which_it_fails() {
    let _turn = turn();
    let story = Story::copy_of(&compiled("jvm-factors"));
    let call = story.unflake(["factors", "beganWithTheEpoch", "--factor", "time-zone", "--json"]);
    let call = call.arg(story.place().join("found.json")).args(["--", "mvn", "-o", "-B", "test"]);
    let ran = cached(call).end();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let [finding] = ran.list("findings") else { panic!("{:?}", ran.list("findings")) };
    assert_eq!((&finding["kind"], &finding["technique"]), (&"time-zone".into(), &"factor".into()), "{finding}");
    let failed = |world: &&serde_json::Value| world["rate"]["seen"] != 0;
    let plan = finding["plan"].as_array().unwrap();
    let failing: Vec<&str> = plan.iter().filter(failed).filter_map(|world| world["name"].as_str()).collect();
    assert_eq!(failing, ["time-zone=Pacific/Kiritimati", "time-zone=Etc/GMT+12", "time-zone=America/New_York"]);
}
