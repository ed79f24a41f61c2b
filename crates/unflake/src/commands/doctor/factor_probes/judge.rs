//! What is asked to find out whether a factor holds, and what the answer proves.

use std::time::Duration;

use unflake_model::{Factor, FactorKind};

use super::Answer;
use super::runtime::{Runtime, Told};

/// One factor, or one kind of its settings.
pub(crate) struct Trial {
    factor: &'static str,
    /// Which setting, where the factor has several kinds of them.
    setting: &'static str,
    judge: fn(&Trial, &Runtime) -> Result<Answer, String>,
}

const fn trial(factor: &'static str, judge: fn(&Trial, &Runtime) -> Result<Answer, String>) -> Trial {
    Trial { factor, setting: "", judge }
}

pub(crate) const TRIALS: [Trial; 19] = [
    trial("date", date),
    trial("speed", speed),
    trial("time-zone", time_zone),
    trial("locale", locale),
    trial("hash-seed", |trial, runtime| seeded(trial, runtime, "hash")),
    trial("random-seed", |trial, runtime| seeded(trial, runtime, "random")),
    trial("cores", cores),
    trial("load", load),
    trial("memory", |trial, runtime| limited(trial, runtime, "2G", "memory")),
    trial("open-files", |trial, runtime| limited(trial, runtime, "60", "files")),
    trial("delays", |trial, runtime| slower(trial, runtime, "50ms/1@1", "sleeps", 150)),
    Trial { factor: "network", setting: "off", judge: cut_off },
    Trial { factor: "network", setting: "alone", judge: cut_off },
    Trial {
        factor: "network",
        setting: "slow",
        judge: |trial, runtime| slower(trial, runtime, "slow:300ms", "echo", 300),
    },
    trial("listing", listing),
    trial("variable", variable),
    trial("state", state),
    trial("interpreter", interpreter),
    trial("switch-interval", switch_interval),
];

impl Trial {
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.factor, self.setting).trim_end().to_owned()
    }

    pub(crate) fn answer(&self, runtime: &Runtime) -> Answer {
        (self.judge)(self, runtime).unwrap_or_else(Answer::No)
    }

    fn set(&self, setting: &str) -> Factor {
        FactorKind::from_word(self.factor)
            .expect("probes name factors that are declared")
            .set(setting)
            .expect("probes use valid settings")
    }

    fn ask(&self, runtime: &Runtime, word: &str, setting: &str) -> Result<Told, String> {
        runtime.ask(word, &[self.set(setting)])
    }
}

/// Yes, or what was seen instead.
fn is_so(so: bool, instead: impl FnOnce() -> String) -> Result<Answer, String> {
    Ok(if so { Answer::Yes } else { Answer::No(instead()) })
}

fn number(told: &Told) -> Result<i64, String> {
    told.text.parse().map_err(|_| format!("it says `{}`", told.text))
}

fn date(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let setting = "2031-05-17T18:00:00Z";
    let meant = trial.set(setting).number().expect("dates are numbers") as i64;
    let seconds = number(&trial.ask(runtime, "date", setting)?)?;
    is_so((meant..meant + 120).contains(&seconds), || format!("its clock says {seconds} s since 1970, not {meant}"))
}

fn speed(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let told = trial.ask(runtime, "sleep", "20")?;
    let clocks: Vec<i64> = told.text.split(' ').filter_map(|number| number.parse().ok()).collect();
    let all = clocks.len() == 2 && clocks.iter().all(|milliseconds| *milliseconds >= 3_990);
    // By its own clocks it has slept four seconds.
    is_so(all && told.took < Duration::from_secs(3), || {
        format!("a sleep of 4 s took {} ms by its clocks and {} ms in all", told.text, told.took.as_millis())
    })
}

fn time_zone(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    match trial.ask(runtime, "zone", "Asia/Tokyo") {
        Ok(told) => is_so(told.text == "32400", || format!("it is {} s from UTC, not 32400", told.text)),
        Err(why) => Ok(Answer::NotHere(why)),
    }
}

fn locale(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let listed = std::process::Command::new("locale").arg("-a").output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let plain = |name: &&str| ["C", "POSIX"].contains(name);
    // One of a language, where there is one.
    let other = listed.lines().filter(|name| !plain(name)).max_by_key(|name| !name.starts_with("C."));
    let Some(other) = other else { return Ok(Answer::NotHere("only C is installed".to_owned())) };
    let (one, two) = (trial.ask(runtime, "locale", "C")?, trial.ask(runtime, "locale", other)?);
    if one.text == "nothing" {
        return Ok(Answer::NotHere("its programs ask for none".to_owned()));
    }
    is_so(one.text != two.text, || format!("it says `{}` under C and under {other}", one.text))
}

/// The same from the same seed, and something else from another.
fn seeded(trial: &Trial, runtime: &Runtime, word: &str) -> Result<Answer, String> {
    let first = trial.ask(runtime, word, "1")?.text;
    if first == "nothing" {
        return Ok(Answer::NotHere("it has no such seed".to_owned()));
    }
    let (again, other) = (trial.ask(runtime, word, "1")?.text, trial.ask(runtime, word, "2")?.text);
    if first != again {
        return Ok(Answer::No("it draws something else each time, whatever the seed".to_owned()));
    }
    is_so(first != other, || "it draws the same from every seed".to_owned())
}

fn cores(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    for count in ["1", "3"] {
        let told = trial.ask(runtime, "cores", count)?.text;
        if told != count {
            return Ok(Answer::No(format!("it sees {told} cores where {count} were asked for")));
        }
    }
    Ok(Answer::Yes)
}

fn load(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let alone = number(&runtime.ask("busy", &[])?)?;
    let beside = number(&trial.ask(runtime, "busy", &(cores * 4).to_string())?)?;
    is_so(beside * 10 < alone * 6, || format!("it gets as much done: {beside} rounds instead of {alone}"))
}

fn limited(trial: &Trial, runtime: &Runtime, setting: &str, word: &str) -> Result<Answer, String> {
    if runtime.ask(word, &[])?.text != "given" {
        return Ok(Answer::NotHere("it is refused as much without a limit".to_owned()));
    }
    let told = trial.ask(runtime, word, setting).map_err(|why| format!("under {setting} {why}"))?.text;
    is_so(told == "refused", || "it is given more than the limit".to_owned())
}

/// Longer by `least` milliseconds than without.
fn slower(trial: &Trial, runtime: &Runtime, setting: &str, word: &str, least: i64) -> Result<Answer, String> {
    let without = number(&runtime.ask(word, &[])?)?;
    let with = number(&trial.ask(runtime, word, setting)?)?;
    is_so(with >= without + least, || format!("it takes {with} ms, and {without} ms without"))
}

fn cut_off(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    if runtime.ask("connect", &[])?.text == "unreachable" {
        return Ok(Answer::NotHere("there is no network anyway".to_owned()));
    }
    let setting = trial.set(trial.setting);
    let told = match runtime.ask("connect", std::slice::from_ref(&setting)) {
        Ok(told) => told.text,
        Err(why) => return Ok(Answer::NotHere(why)),
    };
    let own = runtime.ask("echo", &[setting])?;
    number(&own).map_err(|why| format!("it cannot reach itself either: {why}"))?;
    is_so(told == "unreachable", || format!("a connection to another machine ends with `{told}`"))
}

fn listing(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let (up, down) = (trial.ask(runtime, "listing", "sorted")?.text, trial.ask(runtime, "listing", "reversed")?.text);
    if up == down && up == "a b c d e" {
        return Ok(Answer::No("it sorts the names itself".to_owned()));
    }
    is_so((&*up, &*down) == ("a b c d e", "e d c b a"), || format!("names come as {up}, reversed as {down}"))
}

fn variable(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let told = trial.ask(runtime, "variable", "FACTOR_PROBE=set")?.text;
    is_so(told == "set", || "it does not see it".to_owned())
}

fn state(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let told = trial.ask(runtime, "home", "fresh")?.text;
    is_so(told.contains("unflake-state-"), || format!("its home is {told}"))
}

fn interpreter(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let Some(called) = runtime.called else { return Ok(Answer::NotHere("it has none".to_owned())) };
    let Ok(under) = unflake_worlds::World::new(&[trial.set(called)]) else {
        return Ok(Answer::NotHere(format!("there is no {called} in PATH")));
    };
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("command -v {called}")]);
    under.prepare(&mut command);
    let found = command.output().map_err(|error| error.to_string())?.stdout;
    let found = String::from_utf8_lossy(&found).trim().to_owned();
    is_so(found.contains("unflake-interpreter-"), || format!("{called} leads to {found}"))
}

fn switch_interval(trial: &Trial, runtime: &Runtime) -> Result<Answer, String> {
    let told = trial.ask(runtime, "turns", "20us")?.text;
    if told == "nothing" {
        return Ok(Answer::NotHere("it is a matter of Python".to_owned()));
    }
    is_so(told == "20", || format!("its threads take turns every {told} us, not every 20"))
}
