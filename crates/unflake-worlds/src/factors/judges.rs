//! Judges of probes that several factors use.

use unflake_model::{ProbeAnswer, ProbeVerdict};

/// Judges the answers of a probe, or says why the first missing answer is missing.
pub fn judged(answers: &[ProbeAnswer], judge: impl FnOnce(&[&str]) -> ProbeVerdict) -> ProbeVerdict {
    let texts: Result<Vec<&str>, &String> =
        answers.iter().map(|answer| answer.text.as_ref().map(String::as_str)).collect();
    match texts {
        Ok(texts) => judge(&texts),
        Err(why) => ProbeVerdict::No(why.clone()),
    }
}

/// Whether the second of two durations in milliseconds is longer by this much.
pub(super) fn longer_by(answers: &[ProbeAnswer], least: i64) -> ProbeVerdict {
    judged(answers, |texts| match (texts[0].parse::<i64>(), texts[1].parse::<i64>()) {
        (Ok(without), Ok(with)) => ProbeVerdict::yes_if(with >= without + least, || {
            format!("it takes {with} ms, and {without} ms without the factor")
        }),
        _ => ProbeVerdict::No(format!("it answers `{}` and `{}`", texts[0], texts[1])),
    })
}

/// Judges answers under the seeds 1, 1 and 2: equal for equal seeds, and different otherwise.
pub fn seeded(answers: &[ProbeAnswer]) -> ProbeVerdict {
    judged(answers, |texts| match texts[..] {
        ["nothing", ..] => ProbeVerdict::Unavailable("it has no such seed".to_owned()),
        [first, again, _] if first != again => {
            ProbeVerdict::No("it draws other values each time, whatever the seed".to_owned())
        }
        [first, _, other] => {
            ProbeVerdict::yes_if(first != other, || "it draws the same values from every seed".to_owned())
        }
        _ => ProbeVerdict::No("it did not answer".to_owned()),
    })
}
