//! Reads the service file of libpq: named sets of connection parameters.

use std::fs;
use std::path::PathBuf;

/// The parameters of a service, in order: from `PGSERVICEFILE` or `~/.pg_service.conf`, else from
/// `pg_service.conf` in `PGSYSCONFDIR`.
pub(super) fn parameters(
    service: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, String> {
    let of_user = variable("PGSERVICEFILE").map(PathBuf::from);
    let of_user = of_user.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".pg_service.conf")));
    let of_system = variable("PGSYSCONFDIR").map(|dir| PathBuf::from(dir).join("pg_service.conf"));
    for path in [of_user, of_system].into_iter().flatten() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if let Some(found) = section(&text, service) {
            return found.map_err(|line| format!("line {line} of {} is not `name=value`", path.display()));
        }
    }
    Err(format!("there is no service `{service}` in PGSERVICEFILE, ~/.pg_service.conf or PGSYSCONFDIR"))
}

/// The lines of a section; an error is the number of a malformed one.
fn section(text: &str, service: &str) -> Option<Result<Vec<(String, String)>, usize>> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.find(|(_, line)| line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) == Some(service))?;
    let own = lines.take_while(|(_, line)| !line.starts_with('['));
    let parameter = |(number, line): (usize, &str)| {
        let (name, value) = line.split_once('=').ok_or(number)?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    Some(own.map(parameter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text = "# of the team\n[other]\nhost=a\n\n[team]\nhost = db\n# old\nport=5433\n[last]\nhost=c\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(section(text, "team"), Some(Ok(vec![pair("host", "db"), pair("port", "5433")])));
        assert_eq!(section(text, "tea"), None);
        assert_eq!(section("[a]\nhost=b\nport\n", "a"), Some(Err(3)));
    }
}
