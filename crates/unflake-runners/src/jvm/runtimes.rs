//! Other JVMs on this machine: of another vendor and the same version, and of another version.
//!
//! What a JVM is, its `release` file says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use unflake_model::PlanContext;

use crate::process::files::find_program;
use crate::runner::OtherRuntimes;

/// Where JVMs are installed, each in a directory of its own.
const PLACES: [&str; 3] = ["/usr/lib/jvm", "/usr/java", "/opt/java"];
/// The same, below the home directory.
const HOME_PLACES: [&str; 3] = [".sdkman/candidates/java", ".jdks", ".jenv/versions"];

#[derive(Clone, Debug, PartialEq, Eq)]
struct InstalledJvm {
    home: PathBuf,
    vendor: String,
    /// 8, 17 …
    feature: u32,
}

pub(super) fn others(_: &PlanContext) -> OtherRuntimes {
    let home = env::var_os("JAVA_HOME").map(PathBuf::from).or_else(|| {
        let java = fs::canonicalize(find_program("java")?).ok()?;
        Some(java.parent()?.parent()?.to_owned())
    });
    let Some(own) = home.as_deref().and_then(jvm) else {
        return OtherRuntimes::none("the JVM of the tests has no release file");
    };
    let user = env::home_dir().unwrap_or_default();
    let places = PLACES.map(PathBuf::from).into_iter().chain(HOME_PLACES.map(|place| user.join(place)));
    let beside = own.home.parent().map(Path::to_owned);
    let homes: BTreeSet<PathBuf> = places
        .chain(beside)
        .filter_map(|place| fs::read_dir(place).ok())
        .flatten()
        .filter_map(|entry| fs::canonicalize(entry.ok()?.path()).ok())
        .collect();
    choose(&own, &homes.iter().filter_map(|home| jvm(home)).collect::<Vec<_>>())
}

/// Of another version the same vendor is preferred, and the nearest version.
fn choose(own: &InstalledJvm, all: &[InstalledJvm]) -> OtherRuntimes {
    let setting = |jvm: &InstalledJvm| jvm.home.join("bin/java").to_string_lossy().into_owned();
    let vendor = all.iter().find(|one| one.feature == own.feature && one.vendor != own.vendor).map(setting);
    let versions = all.iter().filter(|one| one.feature != own.feature);
    let version = versions.min_by_key(|one| (one.vendor != own.vendor, one.feature.abs_diff(own.feature)));
    let missing = |what: &str| format!("no JVM {what} is installed beside Java {} of {}", own.feature, own.vendor);
    OtherRuntimes {
        vendor: vendor.ok_or_else(|| missing("of another vendor and the same version")),
        version: version.map(setting).ok_or_else(|| missing("of another version")),
    }
}

fn jvm(home: &Path) -> Option<InstalledJvm> {
    let release = fs::read_to_string(home.join("release")).ok()?;
    home.join("bin/java").is_file().then_some(())?;
    let (vendor, feature) = described(&release)?;
    Some(InstalledJvm { home: home.to_owned(), vendor, feature })
}

/// Vendor and feature version in a release file. Before Java 9, versions are `1.8.0_402`.
fn described(release: &str) -> Option<(String, u32)> {
    let value = |name: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    let version = value("JAVA_VERSION")?;
    let mut numbers = version.split(['.', '_', '-', '+']);
    let first: u32 = numbers.next()?.parse().ok()?;
    let feature = if first == 1 { numbers.next()?.parse().ok()? } else { first };
    Some((value("IMPLEMENTOR").unwrap_or_else(|| "an unknown vendor".to_owned()), feature))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jvm(home: &str, vendor: &str, feature: u32) -> InstalledJvm {
        InstalledJvm { home: home.into(), vendor: vendor.to_owned(), feature }
    }

    #[test]
    fn release_files_are_read() {
        let debian = "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\n";
        assert_eq!(described(debian), Some(("Debian".to_owned(), 17)));
        assert_eq!(described("JAVA_VERSION=\"1.8.0_402\"\n"), Some(("an unknown vendor".to_owned(), 8)));
        assert_eq!(described("JAVA_VERSION=\"25-ea\"\n").map(|(_, feature)| feature), Some(25));
        assert_eq!(described("IMPLEMENTOR=\"Debian\"\n"), None);
    }

    #[test]
    fn the_nearest_other_jvms_are_chosen() {
        let own = jvm("/a", "Debian", 17);
        let all = [
            own.clone(),
            jvm("/b", "Eclipse Adoptium", 25),
            jvm("/c", "Eclipse Adoptium", 21),
            jvm("/d", "Debian", 11),
        ];
        let found = choose(&own, &all);
        assert_eq!(found.version.as_deref(), Ok("/d/bin/java"), "the same vendor first");
        assert!(found.vendor.unwrap_err().contains("Java 17 of Debian"));
        assert_eq!(choose(&own, &all[..3]).version.as_deref(), Ok("/c/bin/java"));
        assert_eq!(choose(&own, &[own.clone(), jvm("/e", "Azul", 17)]).vendor.as_deref(), Ok("/e/bin/java"));
        assert!(choose(&own, std::slice::from_ref(&own)).version.is_err());
    }
}
