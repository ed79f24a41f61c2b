//! Parses `postgres://user:password@host:port/database?schema=NAME`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::tls::{ChannelBinding, RootCertificates, SslMode, TlsSettings};
use super::{password_file, service_file};

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
    pub(crate) tls: TlsSettings,
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
        let mut parts = AddressParts::default();
        for (name, value) in [("host", host), ("port", port), ("user", user), ("dbname", database)] {
            parts.set(name, percent_decode(value)?)?;
        }
        if let Some(password) = password {
            parts.set("password", percent_decode(password)?)?;
        }
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').ok_or("a parameter in it has no `=`")?;
            parts.set(name, percent_decode(value)?)?;
        }
        parts.complete(variable)
    }
}

/// The parameters, with libpq's names and ours, and the variables that stand for missing ones.
const PARAMETERS: [(&str, &str); 16] = [
    ("schema", ""),
    ("host", "PGHOST"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("dbname", "PGDATABASE"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("passfile", "PGPASSFILE"),
    ("service", "PGSERVICE"),
    // The client sets its own application name, and writes only to a primary server.
    ("application_name", ""),
    ("target_session_attrs", ""),
];

/// The given parameters, in the order of [`PARAMETERS`].
#[derive(Default)]
struct AddressParts([Option<String>; PARAMETERS.len()]);

impl AddressParts {
    fn index(name: &str) -> Result<usize, String> {
        PARAMETERS.iter().position(|(known, _)| *known == name).ok_or_else(|| {
            let known: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
            format!("there is no parameter `{name}`. There are: {}", known.join(", "))
        })
    }

    /// Empty values are missing ones, except for a password.
    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        let index = Self::index(name)?;
        if !value.is_empty() || name == "password" {
            self.0[index] = Some(value);
        }
        Ok(())
    }

    fn take(&mut self, name: &str) -> Option<String> {
        Self::index(name).ok().and_then(|index| self.0[index].take())
    }

    /// As libpq does: what the address omits comes from its service, then from variables.
    fn fill(&mut self, variable: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        if let Some(service) = self.take("service").or_else(|| variable("PGSERVICE")) {
            for (name, value) in service_file::parameters(&service, variable)? {
                let index = Self::index(&name).map_err(|why| format!("in the service `{service}`, {why}"))?;
                self.0[index].get_or_insert(value);
            }
        }
        for (part, (_, name)) in self.0.iter_mut().zip(PARAMETERS) {
            if part.is_none() && !name.is_empty() {
                *part = variable(name).filter(|value| !value.is_empty());
            }
        }
        Ok(())
    }

    fn complete(mut self, variable: &dyn Fn(&str) -> Option<String>) -> Result<ServerAddress, String> {
        self.fill(variable)?;
        let tls = self.tls(variable)?;
        let port = match self.take("port") {
            None => PORT,
            Some(text) => text.parse().map_err(|_| "its port is not a number from 1 to 65535")?,
        };
        let host = match self.take("host") {
            Some(host) if host.starts_with('/') => ServerHost::Socket(host.into()),
            Some(host) if host.contains(',') => return Err("it names several hosts, and one is wanted".to_owned()),
            Some(host) => ServerHost::Name(host),
            None => local_server(port),
        };
        let user = self.take("user").or_else(|| variable("USER")).ok_or("it names no user")?;
        let database = self.take("dbname").unwrap_or_else(|| user.clone());
        let schema = self.take("schema").unwrap_or_else(|| SCHEMA.to_owned());
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if schema.len() > 63 || !schema.chars().all(fits) {
            return Err("its schema is not made of letters, digits, `_` and `-`, 63 at most".to_owned());
        }
        let connect_timeout = match self.take("connect_timeout").as_deref() {
            None | Some("0") => CONNECT_TIMEOUT,
            Some(text) => {
                Duration::from_secs(text.parse().map_err(|_| "its connect_timeout is not a number of seconds")?)
            }
        };
        let password = self.take("password").or_else(|| {
            let file = self.take("passfile").map(PathBuf::from);
            let file = file.or_else(|| Some(Path::new(&variable("HOME")?).join(".pgpass")))?;
            let name = match &host {
                ServerHost::Name(host) => host.as_str(),
                ServerHost::Socket(_) => "localhost",
            };
            password_file::password(&file, [name, &port.to_string(), &database, &user])
        });
        let password = password.map(Password);
        Ok(ServerAddress { host, port, user, password, database, schema, connect_timeout, tls })
    }

    /// Files that libpq uses without being asked are in `~/.postgresql`.
    fn tls(&mut self, variable: &dyn Fn(&str) -> Option<String>) -> Result<TlsSettings, String> {
        let in_home = |name: &str| Some(Path::new(&variable("HOME")?).join(".postgresql").join(name));
        let roots = match self.take("sslrootcert") {
            Some(name) if name == "system" => Some(RootCertificates::System),
            Some(path) => Some(RootCertificates::File(path.into())),
            None => in_home("root.crt").map(RootCertificates::File),
        };
        let mode = match self.take("sslmode") {
            None if roots == Some(RootCertificates::System) => SslMode::VerifyFull,
            None => SslMode::default(),
            Some(text) => SslMode::parse(&text)
                .ok_or("its sslmode is none of disable, allow, prefer, require, verify-ca, verify-full")?,
        };
        if roots == Some(RootCertificates::System) && mode != SslMode::VerifyFull {
            return Err("sslrootcert=system needs sslmode=verify-full: anyone can get a certificate there".to_owned());
        }
        if mode > SslMode::Require && roots.is_none() {
            return Err("it names no sslrootcert to verify the server with".to_owned());
        }
        let channel_binding = match self.take("channel_binding") {
            None => ChannelBinding::default(),
            Some(text) => {
                ChannelBinding::parse(&text).ok_or("its channel_binding is none of disable, prefer, require")?
            }
        };
        let certificate = self.take("sslcert").map(PathBuf::from);
        let certificate = certificate.or_else(|| in_home("postgresql.crt").filter(|path| path.exists()));
        let key = self.take("sslkey").map(PathBuf::from).or_else(|| in_home("postgresql.key"));
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (Some(_), None) => return Err("it names sslcert and no sslkey".to_owned()),
            (None, _) => None,
        };
        Ok(TlsSettings { mode, channel_binding, roots, identity })
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
        check("postgres://ann:s3cret@h/d?sslmode=always", "sslmode is none of");
        check("postgres://ann:s3cret@h/d?sslrootcert=system&sslmode=require", "needs sslmode=verify-full");
        check("postgres://ann:s3cret@h/d?sslmode=verify-ca", "names no sslrootcert");
        check("postgres://ann:s3cret@h/d?sslcert=a.crt", "no sslkey");
        check("postgres://ann:s3cret@h/d?service=none", "no service `none`");
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
        assert_eq!(address.tls.mode, SslMode::Prefer);
        let strict = |name: &str| if name == "PGSSLMODE" { Some("require".to_owned()) } else { variable(name) };
        assert_eq!(ServerAddress::parse("postgres://", &strict).unwrap().tls.mode, SslMode::Require);
        assert_eq!(ServerAddress::parse("postgres://?sslmode=allow", &strict).unwrap().tls.mode, SslMode::Allow);
    }

    #[test]
    fn files_beside_the_home_directory_are_found() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join(".postgresql");
        fs::create_dir(&dir).unwrap();
        let parse = |text: &str| {
            let variable = |name: &str| (name == "HOME").then(|| home.path().to_str().unwrap().to_owned());
            ServerAddress::parse(text, &variable).unwrap().tls
        };
        assert_eq!(parse("postgres://ann@h/d").identity, None);
        fs::write(dir.join("postgresql.crt"), "").unwrap();
        let settings = parse("postgres://ann@h/d?sslmode=verify-ca");
        assert_eq!(settings.identity, Some((dir.join("postgresql.crt"), dir.join("postgresql.key"))));
        assert_eq!(settings.roots, Some(RootCertificates::File(dir.join("root.crt"))));
        assert_eq!(settings.mode, SslMode::VerifyCa);
        assert_eq!(parse("postgres://ann@h/d?sslrootcert=system").mode, SslMode::VerifyFull);
    }

    #[test]
    fn a_service_fills_what_the_address_omits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("services");
        fs::write(&path, "[team]\nhost=db\nport=99\nuser=ci\nsslmode=require\n[bad]\ncolour=1\n").unwrap();
        let variable = |name: &str| match name {
            "PGSERVICEFILE" => Some(path.to_str().unwrap().to_owned()),
            "PGPORT" => Some("5".to_owned()),
            "PGDATABASE" => Some("tests".to_owned()),
            _ => None,
        };
        let address = ServerAddress::parse("postgres://ann@?service=team", &variable).unwrap();
        assert_eq!(address.to_string(), "postgres://ann@db:99/tests");
        assert_eq!(address.tls.mode, SslMode::Require);
        let why = ServerAddress::parse("postgres://?service=bad", &variable).unwrap_err();
        assert!(why.starts_with("in the service `bad`, there is no parameter `colour`"), "{why}");
        let by_variable = |name: &str| if name == "PGSERVICE" { Some("team".to_owned()) } else { variable(name) };
        assert_eq!(ServerAddress::parse("postgres://", &by_variable).unwrap().to_string(), "postgres://ci@db:99/tests");
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
