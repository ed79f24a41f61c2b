//! Parses `postgres://user:password@host:port/database?schema=NAME`.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The tables have their own schema, separate from those of other programs.
const SCHEMA: &str = "unflake";
const PORT: u16 = 5432;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The socket directories of common systems.
const SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerAddress {
    pub(crate) host: ServerHost,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<Password>,
    pub(crate) database: String,
    pub(crate) schema: String,
    /// Timeout of the connection.
    pub(crate) connect_timeout: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerHost {
    Name(String),
    /// The directory of a Unix socket.
    Socket(PathBuf),
}

/// A password; its debug output hides it.
#[derive(Clone, PartialEq)]
pub(crate) struct Password(pub(crate) String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Omits the password and all defaults.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, database, port, .. } = self;
        let mut parameters = Vec::new();
        match &self.host {
            ServerHost::Name(host) if host.contains(':') => write!(f, "postgres://{user}@[{host}]:{port}/{database}")?,
            ServerHost::Name(host) => write!(f, "postgres://{user}@{host}:{port}/{database}")?,
            ServerHost::Socket(path) => {
                write!(f, "postgres://{user}@/{database}")?;
                parameters.push(format!("host={}", path.display()));
                if *port != PORT {
                    parameters.push(format!("port={port}"));
                }
            }
        }
        if self.schema != SCHEMA {
            parameters.push(format!("schema={}", self.schema));
        }
        if parameters.is_empty() { Ok(()) } else { write!(f, "?{}", parameters.join("&")) }
    }
}

/// Whether this looks like an address, valid or not.
pub(crate) fn is_address(text: &str) -> bool {
    text.starts_with("postgres:") || text.starts_with("postgresql:")
}

impl ServerAddress {
    /// Fills in missing parts from the environment variables of libpq. Errors do not repeat the
    /// address, which may contain a password.
    pub(crate) fn parse(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let rest = text.strip_prefix("postgresql:").or_else(|| text.strip_prefix("postgres:"));
        let rest = rest.and_then(|rest| rest.strip_prefix("//")).ok_or("it does not begin with `postgres://`")?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user_info, host_port) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) =
            user_info.split_once(':').map_or((user_info, None), |(user, password)| (user, Some(password)));
        let (host, port) = split_port(host_port)?;
        let mut parts = AddressParts {
            host: percent_decode(host)?,
            port: port.to_owned(),
            user: percent_decode(user)?,
            password: password.map(percent_decode).transpose()?,
            database: percent_decode(database)?,
            schema: SCHEMA.to_owned(),
            sslmode: String::new(),
            connect_timeout: String::new(),
        };
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').ok_or("a parameter in it has no `=`")?;
            parts.set(name, percent_decode(value)?)?;
        }
        parts.complete(variable)
    }
}

/// The parts of an address; missing ones are empty.
struct AddressParts {
    host: String,
    port: String,
    user: String,
    password: Option<String>,
    database: String,
    schema: String,
    sslmode: String,
    connect_timeout: String,
}

impl AddressParts {
    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "host" => self.host = value,
            "port" => self.port = value,
            "user" => self.user = value,
            "password" => self.password = Some(value),
            "dbname" => self.database = value,
            "schema" => self.schema = value,
            "sslmode" => self.sslmode = value,
            "connect_timeout" => self.connect_timeout = value,
            // The client sets its own application name.
            "application_name" => {}
            _ => {
                return Err(format!(
                    "there is no parameter `{name}`. There are: schema, host, port, user, password, dbname, sslmode, connect_timeout"
                ));
            }
        }
        Ok(())
    }

    fn complete(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<ServerAddress, String> {
        let or = |parts: String, name: &str| if parts.is_empty() { variable(name).unwrap_or_default() } else { parts };
        let sslmode = or(self.sslmode, "PGSSLMODE");
        match sslmode.as_str() {
            "" | "disable" | "allow" | "prefer" => {}
            "require" | "verify-ca" | "verify-full" => {
                return Err(format!(
                    "it asks for an encrypted connection (sslmode={sslmode}), and this unflake cannot make one. Use \
                     a tunnel (ssh -L, stunnel) or the socket of a server on this machine, with sslmode=disable"
                ));
            }
            _ => {
                return Err("its sslmode is none of disable, allow, prefer, require, verify-ca, verify-full".to_owned());
            }
        }
        let port = match or(self.port, "PGPORT").as_str() {
            "" => PORT,
            text => text.parse().map_err(|_| "its port is not a number from 1 to 65535")?,
        };
        let host = match or(self.host, "PGHOST") {
            host if host.starts_with('/') => ServerHost::Socket(host.into()),
            host if host.contains(',') => return Err("it names several hosts, and one is wanted".to_owned()),
            host if !host.is_empty() => ServerHost::Name(host),
            _ => local_server(port),
        };
        let user = or(or(self.user, "PGUSER"), "USER");
        if user.is_empty() {
            return Err("it names no user".to_owned());
        }
        let database = or(self.database, "PGDATABASE");
        let database = if database.is_empty() { user.clone() } else { database };
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.schema.is_empty() || self.schema.len() > 63 || !self.schema.chars().all(fits) {
            return Err("its schema is not made of letters, digits, `_` and `-`, 63 at most".to_owned());
        }
        let connect_timeout = match or(self.connect_timeout, "PGCONNECT_TIMEOUT").as_str() {
            "" | "0" => CONNECT_TIMEOUT,
            text => Duration::from_secs(text.parse().map_err(|_| "its connect_timeout is not a number of seconds")?),
        };
        let mut address =
            ServerAddress { host, port, user, password: None, database, schema: self.schema, connect_timeout };
        let password =
            self.password.or_else(|| variable("PGPASSWORD")).or_else(|| password_from_file(&address, variable));
        address.password = password.map(Password);
        Ok(address)
    }
}

/// A server on this machine: its Unix socket if there is one.
fn local_server(port: u16) -> ServerHost {
    let there = |dir: &&&str| socket(Path::new(dir), port).exists();
    SOCKETS
        .iter()
        .find(there)
        .map_or_else(|| ServerHost::Name("localhost".to_owned()), |dir| ServerHost::Socket(dir.into()))
}

pub(crate) fn socket(dir: &Path, port: u16) -> PathBuf {
    dir.join(format!(".s.PGSQL.{port}"))
}

fn split_port(host_port: &str) -> Result<(&str, &str), String> {
    if let Some(rest) = host_port.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or("an address in brackets has no end")?;
        return Ok((host, port.strip_prefix(':').unwrap_or("")));
    }
    Ok(host_port.rsplit_once(':').unwrap_or((host_port, "")))
}

fn percent_decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (Some(high), Some(low)) = (digit(), digit()) else {
                return Err(
                    "a `%` in it is not followed by two hexadecimal digits; a `%` itself is written `%25`".into()
                );
            };
            bytes.push((high << 4 | low) as u8);
        } else {
            bytes.push(byte);
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("what stands for characters in it (`%..`) is not valid".to_owned()),
    }
}

/// Reads libpq's password file. Like libpq, ignores it if other users can read it.
fn password_from_file(address: &ServerAddress, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let path = variable("PGPASSFILE").map(PathBuf::from);
    let path = path.or_else(|| Some(Path::new(&variable("HOME")?).join(".pgpass")))?;
    if fs::metadata(&path).ok()?.permissions().mode() & 0o077 != 0 {
        return None;
    }
    let host = match &address.host {
        ServerHost::Name(host) => host.as_str(),
        ServerHost::Socket(_) => "localhost",
    };
    let wanted = [host, &address.port.to_string(), &address.database, &address.user];
    fs::read_to_string(path).ok()?.lines().find_map(|line| {
        let fields = fields(line);
        let fits = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
        (fields.len() == 5 && fields.iter().zip(&wanted).all(fits)).then(|| fields[4].clone())
    })
}

/// Splits at colons; a backslash escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = if line.starts_with('#') { "" } else { line }.chars();
    while let Some(c) = characters.next() {
        match c {
            ':' if fields.len() < 5 => fields.push(String::new()),
            _ => {
                let kept = if c == '\\' { characters.next().unwrap_or(c) } else { c };
                fields.last_mut().expect("there is one from the beginning").push(kept);
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ServerAddress, String> {
        ServerAddress::parse(text, &|name| (name == "USER").then(|| "me".to_owned()))
    }

    fn check(text: &str, shown: &str, password: Option<&str>) {
        let address = parse(text).unwrap();
        assert_eq!(address.to_string(), shown);
        assert_eq!(address.password.as_ref().map(|password| password.0.as_str()), password);
        if let Some(password) = password {
            assert!(!format!("{address:?} {address}").contains(password));
        }
    }

    #[test]
    fn addresses_are_parsed_and_displayed_without_the_password() {
        check("postgres://ann:s3cr%40t@db.team:5433/ci", "postgres://ann@db.team:5433/ci", Some("s3cr@t"));
        check("postgresql://ann@db.team/ci?schema=shop", "postgres://ann@db.team:5432/ci?schema=shop", None);
        check("postgres://db?password=pw1&user=bob", "postgres://bob@db:5432/bob", Some("pw1"));
        check("postgres://u:p@ss:w0rd@[::1]:9/d", "postgres://u@[::1]:9/d", Some("p@ss:w0rd"));
        check("postgres://%2Frun%2Fpg:7/d", "postgres://me@/d?host=/run/pg&port=7", None);
        check("postgres://u@/d?host=/run/pg", "postgres://u@/d?host=/run/pg", None);
    }

    #[test]
    fn parse_errors_do_not_contain_the_password() {
        let check = |text: &str, expected: &str| {
            let why = parse(text).unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
            assert!(!why.contains("s3cret"), "{why}");
        };
        check("postgres:ann:s3cret@h", "does not begin");
        check("postgres://ann:s3cret@h:port/d", "port");
        check("postgres://ann:s3cret@h/d?color=1", "no parameter `color`");
        check("postgres://ann:s3cret%zz@h/d", "hexadecimal");
        check("postgres://ann:s3cret@h/d?sslmode=require", "cannot make one");
        check("postgres://ann:s3cret@h/d?sslmode=verify-full", "cannot make one");
        check("postgres://ann:s3cret@h,i/d", "several hosts");
        check("postgres://ann:s3cret@h/d?schema=a;b", "schema");
        check("postgres://ann:s3cret@h/d?connect_timeout=soon", "connect_timeout");
    }

    #[test]
    fn missing_parts_come_from_libpq_variables() {
        let variable = |name: &str| {
            let value = match name {
                "PGHOST" => "db",
                "PGPORT" => "99",
                "PGUSER" => "ann",
                "PGPASSWORD" => "pw",
                "PGDATABASE" => "ci",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let address = ServerAddress::parse("postgres://", &variable).unwrap();
        assert_eq!(address.to_string(), "postgres://ann@db:99/ci");
        assert_eq!(address.password, Some(Password("pw".into())));
        let strict = |name: &str| if name == "PGSSLMODE" { Some("require".to_owned()) } else { variable(name) };
        assert!(ServerAddress::parse("postgres://", &strict).unwrap_err().contains("cannot make one"));
    }

    #[test]
    fn password_files_follow_the_rules_of_libpq() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwords");
        fs::write(&path, "# a word\nother:*:*:ann:no\nh:*:d\\:1:ann:a\\:b:c\n*:*:*:*:last\n").unwrap();
        let password = |text: &str, mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let variable = |name: &str| (name == "PGPASSFILE").then(|| path.to_str().unwrap().to_owned());
            ServerAddress::parse(text, &variable).unwrap().password.map(|password| password.0)
        };
        assert_eq!(password("postgres://ann@h/d%3A1", 0o600).as_deref(), Some("a:b:c"));
        assert_eq!(password("postgres://ann@h/other", 0o600).as_deref(), Some("last"));
        assert_eq!(password("postgres://ann:own@h/other", 0o600).as_deref(), Some("own"));
        assert_eq!(password("postgres://ann@h/other", 0o644), None, "everybody can read it");
    }
}
