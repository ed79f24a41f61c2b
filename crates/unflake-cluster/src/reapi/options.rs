//! Where a server is and how to speak to it: its address, and options with the names that Bazel has
//! for them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::pool::ClusterError;

/// The addresses of servers without and with TLS begin with these.
const PLAIN: &str = "reapi://";
const SECURE: &str = "reapis://";

/// Variables that tests get without being asked for. Others may be secrets, and inputs are kept by the
/// server.
const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LANGUAGE", "TZ", "LC_"];

/// A server of the Remote Execution API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReapiServer {
    /// `host:port`.
    pub address: String,
    pub(super) is_secure: bool,
    pub(super) instance: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) properties: BTreeMap<String, String>,
    pub(super) authorities: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) timeout: Option<Duration>,
    /// The variables of the command.
    pub(super) environment: BTreeMap<String, String>,
}

impl ReapiServer {
    /// Whether a text is the address of a server: a scheme, a host and a port.
    pub fn is_address(text: &str) -> bool {
        let rest = text.strip_prefix(PLAIN).or_else(|| text.strip_prefix(SECURE));
        rest.and_then(|rest| rest.rsplit_once(':')).is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains(['/', '@', ' ']) && port.parse::<u16>().is_ok_and(|port| port > 0)
        })
    }

    /// `here`: the variables of this process, for those that the command gets.
    pub fn new(
        address: &str,
        options: &[String],
        here: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ClusterError> {
        if !Self::is_address(address) {
            return Err(ClusterError(format!("`{address}` is not the address of a server: reapi://host:port")));
        }
        let here: BTreeMap<String, String> = here.collect();
        let is_passed_on =
            |name: &str| PASSED_ON.iter().any(|one| name == *one || one.ends_with('_') && name.starts_with(one));
        let mut server = Self {
            address: address.rsplit('/').next().unwrap_or_default().to_owned(),
            is_secure: address.starts_with(SECURE),
            instance: String::new(),
            headers: BTreeMap::new(),
            properties: BTreeMap::new(),
            authorities: None,
            certificate: None,
            key: None,
            timeout: None,
            environment: here
                .iter()
                .filter(|(name, _)| is_passed_on(name))
                .map(|(a, b)| (a.clone(), b.clone()))
                .collect(),
        };
        for option in options {
            server.add(option, &here)?;
        }
        if server.certificate.is_some() != server.key.is_some() {
            return Err(ClusterError("--tls_client_certificate and --tls_client_key need each other".to_owned()));
        }
        Ok(server)
    }

    fn add(&mut self, option: &str, here: &BTreeMap<String, String>) -> Result<(), ClusterError> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        // A header may be a secret.
        let without_value = || ClusterError(format!("engine-options: {name} needs NAME=VALUE"));
        let pair = || {
            let (name, value) = value.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(without_value)?;
            Ok((name.to_owned(), value.to_owned()))
        };
        match name {
            "--remote_instance_name" => self.instance = value.to_owned(),
            "--remote_header" => {
                let (name, value) = pair()?;
                self.headers.insert(name.to_lowercase(), value);
            }
            "--remote_default_exec_properties" => self.properties.extend([pair()?]),
            "--tls_certificate" => self.authorities = Some(value.into()),
            "--tls_client_certificate" => self.certificate = Some(value.into()),
            "--tls_client_key" => self.key = Some(value.into()),
            "--test_timeout" => {
                let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or_else(|| ClusterError(format!("engine-options: {name} needs seconds")))?;
                self.timeout = Some(Duration::from_secs(seconds));
            }
            "--test_env" => match value.split_once('=') {
                Some((name, value)) => drop(self.environment.insert(name.to_owned(), value.to_owned())),
                None => self.environment.extend(here.get_key_value(value).map(|(a, b)| (a.clone(), b.clone()))),
            },
            _ => return Err(ClusterError(format!("engine-options: {name} is not known for this engine"))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(options: &[&str]) -> Result<ReapiServer, ClusterError> {
        let options: Vec<String> = options.iter().map(|one| (*one).to_owned()).collect();
        let here = [("PATH", "/bin"), ("LC_ALL", "C"), ("TOKEN", "secret"), ("DATA", "/d")];
        ReapiServer::new("reapi://h:80", &options, here.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())))
    }

    #[test]
    fn addresses_have_a_scheme_a_host_and_a_port() {
        for good in ["reapi://localhost:8980", "reapis://remote.example.com:443", "reapi://[::1]:80"] {
            assert!(ReapiServer::is_address(good), "{good}");
        }
        for bad in ["reapi://host", "reapi://:80", "http://h:80", "reapi://h:0", "reapi://h:x", "reapi://h/p:80"] {
            assert!(!ReapiServer::is_address(bad), "{bad}");
        }
    }

    #[test]
    fn options_have_the_names_of_bazel() {
        let server = server(&[
            "--remote_instance_name=main",
            "--remote_header=Authorization=Bearer a=b",
            "--remote_default_exec_properties=OSFamily=linux",
            "--test_timeout=60",
        ]);
        let server = server.unwrap();
        assert_eq!((server.address.as_str(), server.is_secure, server.instance.as_str()), ("h:80", false, "main"));
        assert_eq!(server.headers["authorization"], "Bearer a=b");
        assert_eq!(server.properties["OSFamily"], "linux");
        assert_eq!(server.timeout, Some(Duration::from_secs(60)));
    }

    #[test]
    fn only_named_variables_leave_this_machine() {
        let names = |options: &[&str]| server(options).unwrap().environment.into_keys().collect::<Vec<_>>();
        assert_eq!(names(&[]), ["LC_ALL", "PATH"]);
        assert_eq!(
            names(&["--test_env=DATA", "--test_env=X=1", "--test_env=MISSING"]),
            ["DATA", "LC_ALL", "PATH", "X"]
        );
    }

    #[test]
    fn wrong_options_are_refused_without_showing_their_values() {
        for wrong in ["--partition=short", "--remote_header=secret", "--test_timeout=secret", "--tls_client_key=secret"]
        {
            let error = server(&[wrong]).unwrap_err().0;
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
