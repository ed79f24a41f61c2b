//! `unflake token`: who may use `unflake serve` from other machines.

use std::env;

use nix::unistd::{User, getuid};
use unflake_model::Timestamp;
use unflake_report::{TimeZone, one_line};
use unflake_store::{AccessRole, AuditEntry, NewToken, StoreLocation, StoredToken};

use crate::args::token::{NewTokenArgs, TokenCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::{recorder, scores};
use crate::output::console::print;

const LONGEST_DAYS: i64 = 366;
const DAY: i64 = 24 * 3600 * 1_000_000;
const BYTES: usize = 32;
const LONGEST_NAME: usize = 100;

pub(crate) fn run(command: TokenCommand, context: &Context) -> Result<Exit, CommandError> {
    match command {
        TokenCommand::Create { token, store } => create(&token, &context.store(store)?)?,
        TokenCommand::List { store } => list(&context.store(store)?)?,
        TokenCommand::Revoke { name, store } => revoke(&name, &context.store(store)?)?,
    }
    Ok(Exit::Success)
}

/// A new secret of so many random bytes, in hexadecimal digits.
pub(crate) fn new_secret(bytes: usize) -> Result<String, CommandError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)
        .map_err(|error| CommandError::internal("draw a token")(std::io::Error::other(error.to_string())))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The user who runs this process, as the audit log names them: `ann@host`.
pub(crate) fn local_user() -> String {
    let user = User::from_uid(getuid()).ok().flatten().map(|user| user.name);
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let user = user.or_else(|| env::var("USER").ok()).unwrap_or_else(|| getuid().to_string());
    format!("{user}@{}", host.unwrap_or_else(|| "localhost".to_owned()))
}

fn create(args: &NewTokenArgs, location: &StoreLocation) -> Result<(), CommandError> {
    let name = args.name.trim();
    if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(CommandError::usage("a token needs a name of 1 to 100 bytes")
            .hint("name the person or the CI job that will use it"));
    }
    if !(1..=LONGEST_DAYS).contains(&args.days) {
        return Err(CommandError::usage(format!("a token lasts 1 to {LONGEST_DAYS} days, not {}", args.days))
            .hint("give `--days` a number in this range; a token can be created anew when it expires"));
    }
    let secret = format!("unflake_{}", new_secret(BYTES)?);
    let (role, now) = (AccessRole::from(args.role), recorder::now());
    let expires = Timestamp(now.0 + args.days * DAY);
    let token = NewToken { name, secret: &secret, role, created: now, expires };
    let detail = format!("{role}, {} days", args.days);
    if !scores::open(location)?.create_token(&token, &entry("token-create", name, detail))? {
        return Err(CommandError::usage(format!("there is a valid token with the name {}", one_line(name)))
            .hint("revoke it first, or choose another name"));
    }
    print("print the token", |out| writeln!(out, "{secret}"))?;
    eprintln!("{} may {role} until {}. The token is shown only now.", one_line(name), date(expires));
    Ok(())
}

fn list(location: &StoreLocation) -> Result<(), CommandError> {
    let (tokens, now) = (scores::open(location)?.tokens()?, recorder::now());
    print("print the tokens", |out| {
        if tokens.is_empty() {
            return writeln!(out, "no tokens\n  → `unflake token create NAME` creates one");
        }
        for token in &tokens {
            let role = token.role.to_string();
            writeln!(out, "{:<8}  {role:<5}  {}  {}", state(token, now), date(token.expires), one_line(&token.name))?;
        }
        Ok(())
    })
}

fn state(token: &StoredToken, now: Timestamp) -> &'static str {
    match token.revoked {
        Some(_) => "REVOKED",
        None if token.is_valid(now) => "VALID",
        None => "EXPIRED",
    }
}

fn revoke(name: &str, location: &StoreLocation) -> Result<(), CommandError> {
    if !scores::open(location)?.revoke_token(name, &entry("token-revoke", name, String::new()))? {
        return Err(CommandError::usage(format!("there is no valid token with the name {}", one_line(name)))
            .hint("`unflake token list` lists the names"));
    }
    print("print the result", |out| writeln!(out, "{} is revoked", one_line(name)))
}

fn entry(action: &str, name: &str, detail: String) -> AuditEntry {
    let (action, what) = (action.to_owned(), name.to_owned());
    AuditEntry { at: recorder::now(), who: local_user(), action, what, detail }
}

fn date(when: Timestamp) -> String {
    let zone = TimeZone::system();
    let date =
        jiff::Timestamp::from_microsecond(when.0).map(|when| when.to_zoned(zone).strftime("%Y-%m-%d").to_string());
    date.unwrap_or_else(|_| "an unknown day".to_owned())
}
