//! Who sends a request, and what they may do.

use unflake_store::{AccessRole, Store};
use unflake_web::{Request, Response};

use super::listen::{Listening, Proxies};
use crate::commands::token::{local_user, new_secret};
use crate::error::CommandError;
use crate::history::recorder;

const START_TOKEN_BYTES: usize = 16;

/// Decides who may read and write.
pub(super) struct Access {
    /// The secret of this start, known to the user who started the server on this machine.
    start_token: Option<String>,
    proxies: Option<Proxies>,
    /// Name of the cookie. It contains the port, because cookies ignore ports.
    cookie: String,
    is_secure: bool,
    /// Without TLS only the proxies may connect.
    is_encrypted: bool,
}

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// As the audit log names them. None: a user of this machine.
    pub(super) name: Option<String>,
    pub(super) role: AccessRole,
}

/// Why access is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stranger {
    /// They may sign in.
    Unknown,
    /// The connection does not come from a named proxy.
    NoProxy,
}

impl Access {
    pub(super) fn new(listening: &Listening, port: u16, is_secure: bool) -> Result<Self, CommandError> {
        let start_token = listening.is_local().then(|| new_secret(START_TOKEN_BYTES)).transpose()?;
        let (proxies, is_encrypted) = (listening.proxies.clone(), listening.tls.is_some());
        Ok(Self { start_token, proxies, cookie: format!("unflake-{port}"), is_secure, is_encrypted })
    }

    pub(super) fn start_token(&self) -> Option<&str> {
        self.start_token.as_deref()
    }

    /// Who sends this request. `token_of` says whose token a secret is.
    pub(super) fn caller(
        &self,
        request: &Request,
        mut token_of: impl FnMut(&str) -> Result<Option<Caller>, CommandError>,
    ) -> Result<Result<Caller, Stranger>, CommandError> {
        let from_proxy = self.proxies.as_ref().filter(|proxies| proxies.addresses.contains(&request.peer));
        if self.proxies.is_some() && from_proxy.is_none() && !self.is_encrypted {
            return Ok(Err(Stranger::NoProxy));
        }
        for secret in request.bearer().into_iter().chain(request.cookies(&self.cookie)) {
            if let Some(caller) = self.caller_with(secret, &mut token_of)? {
                return Ok(Ok(caller));
            }
        }
        if let Some(proxies) = from_proxy
            && let Some(user) = request.header(&proxies.header).filter(|user| !user.is_empty())
        {
            return Ok(Ok(proxies.caller(user)));
        }
        let reader = Caller { name: None, role: AccessRole::Read };
        Ok(if self.start_token.is_some() { Ok(reader) } else { Err(Stranger::Unknown) })
    }

    /// Who has this secret.
    pub(super) fn caller_with(
        &self,
        secret: &str,
        token_of: &mut impl FnMut(&str) -> Result<Option<Caller>, CommandError>,
    ) -> Result<Option<Caller>, CommandError> {
        if self.start_token.as_deref().is_some_and(|own| is_same(own, secret)) {
            return Ok(Some(Caller { name: Some(local_user()), role: AccessRole::Write }));
        }
        if secret.is_empty() { Ok(None) } else { token_of(secret) }
    }

    /// Stores a secret as a cookie. Browsers send it with no request of another site, and scripts
    /// cannot read it.
    pub(super) fn set_cookie(&self, secret: &str, response: Response) -> Response {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let value = format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie);
        response.with_header("set-cookie", &value)
    }
}

impl Caller {
    pub(super) fn may_write(&self) -> bool {
        self.role >= AccessRole::Write
    }

    /// The one whose valid token this is.
    pub(super) fn of_token(store: &Store, secret: &str) -> Result<Option<Self>, CommandError> {
        let token = store.token_of(secret, recorder::now())?;
        Ok(token.map(|token| Self { name: Some(format!("token {}", token.name)), role: token.role }))
    }
}

impl Proxies {
    fn caller(&self, user: &str) -> Caller {
        let may_write = self.writers.iter().any(|writer| writer == "*" || writer == user);
        Caller { name: Some(user.to_owned()), role: if may_write { AccessRole::Write } else { AccessRole::Read } }
    }
}

/// Compares in constant time.
fn is_same(own: &str, secret: &str) -> bool {
    let differences = own.bytes().zip(secret.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    secret.len() == own.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_secret_is_the_same() {
        assert!(is_same("0123abcd", "0123abcd"));
        for wrong in ["", "0123abc", "0123abcd0", "0123abce", "x123abcd"] {
            assert!(!is_same("0123abcd", wrong), "{wrong}");
        }
    }

    #[test]
    fn the_proxy_names_users_and_the_options_who_writes() {
        let proxies = |writers: &[&str]| Proxies {
            addresses: Vec::new(),
            header: "x-forwarded-user".to_owned(),
            writers: writers.iter().map(|name| (*name).to_owned()).collect(),
            url: "https://a".to_owned(),
        };
        assert!(proxies(&["ann", "bob"]).caller("bob").may_write());
        assert!(!proxies(&["ann"]).caller("bob").may_write() && !proxies(&[]).caller("").may_write());
        assert!(proxies(&["*"]).caller("anybody").may_write());
    }
}
