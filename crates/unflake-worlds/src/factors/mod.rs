//! The factors that every process has, one family per file. Each declaration has everything that
//! unflake knows of its factor.

mod clock;
mod files;
mod judges;
mod limits;
mod locale;
mod network;
mod schedule;
mod seeds;
mod test_runs;
mod timing;
mod variable;

use std::ops::RangeInclusive;
use std::str::FromStr;

use unflake_model::FactorDeclaration;

pub use clock::clock_changes;
#[cfg(target_os = "linux")]
pub(crate) use clock::zone;
pub use judges::{judged, seeded};
pub use seeds::{drawn_addresses, is_seed, random_bytes, seed_factors};

pub fn factors() -> impl Iterator<Item = &'static FactorDeclaration> {
    let clock = [&clock::DATE, &clock::SPEED, &clock::TIME_ZONE];
    let seeds_and_runs =
        [&locale::LOCALE, &seeds::RANDOM_SEED, &seeds::ADDRESS_SEED, &test_runs::ORDER, &test_runs::BESIDE];
    let limits =
        [&limits::CORES, &timing::LOAD, &limits::MEMORY, &limits::OPEN_FILES, &timing::DELAYS, &schedule::SCHEDULE];
    let surroundings = [&network::NETWORK, &files::LISTING, &variable::VARIABLE, &files::STATE, &files::WITHOUT];
    clock.into_iter().chain(seeds_and_runs).chain(limits).chain(surroundings)
}

/// The name of the factor that hides a file.
pub const HIDES_FILES: &str = files::WITHOUT.name;

/// A name that a program could not take for an option.
fn word(text: &str) -> Option<String> {
    let fits = !text.is_empty() && !text.starts_with('-') && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

fn number_in(text: &str, range: RangeInclusive<u64>) -> Option<String> {
    text.parse().ok().filter(|number| range.contains(number)).map(|number: u64| number.to_string())
}

/// The canonical form of a value that prints as it is parsed.
fn canonical<T: FromStr + ToString>(text: &str) -> Option<String> {
    text.parse::<T>().ok().map(|value| value.to_string())
}

/// What is certain: settings were checked when they were typed.
fn parsed<T: FromStr>(setting: &str) -> T {
    setting.parse().unwrap_or_else(|_| panic!("`{setting}` was checked"))
}

fn as_number(setting: &str) -> Option<f64> {
    setting.parse().ok()
}

fn whole_number(_: &str, number: f64) -> Option<String> {
    (number >= 0.0).then(|| (number.round() as u64).to_string())
}

#[cfg(test)]
mod tests;
