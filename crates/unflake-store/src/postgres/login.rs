//! Connects to a server and authenticates.

use super::address::{self, ServerAddress, ServerHost};
use super::auth::{self, Scram};
use super::wire::{self, Message, Wire};
use crate::database::{DatabaseError, Result};
use crate::error::GIVE_PASSWORD;

const PROTOCOL: u32 = 3 << 16;

const CHECK_ADDRESS: &str = "Check the address";
const USE_SCRAM: &str = "Configure scram-sha-256 or md5 in pg_hba.conf";
const USE_UTF8: &str = "Create a UTF-8 database (createdb -E UTF8 -T template0 NAME)";

pub(super) fn connect(address: &ServerAddress) -> Result<Wire> {
    let mut wire = match &address.host {
        ServerHost::Name(host) => Wire::to_host(host, address.port, address.connect_timeout)?,
        ServerHost::Socket(dir) => Wire::to_socket(&address::socket(dir, address.port))?,
    };
    wire.set_timeout(address.connect_timeout)?;
    wire.put(0, |out| {
        out.extend(PROTOCOL.to_be_bytes());
        let settings = [
            ("user", &*address.user),
            ("database", &address.database),
            ("application_name", "unflake"),
            ("client_encoding", "UTF8"),
        ];
        for (name, value) in settings {
            wire::text(out, name);
            wire::text(out, value);
        }
        out.push(0);
    });
    wire.send()?;
    let mut scram = None;
    loop {
        let message = wire.receive()?;
        match message.kind {
            b'Z' => return Ok(wire),
            b'E' => return Err(server_error(&message)),
            b'R' => authenticate(&message, address, &mut scram, &mut wire)?,
            b'S' => check(&message)?,
            // Protocol negotiation, cancellation key and notices.
            b'v' | b'K' | b'N' => {}
            _ => return Err(refused("the server there is not PostgreSQL", CHECK_ADDRESS)),
        }
    }
}

/// Rejects servers with settings that the client does not support.
fn check(message: &Message) -> Result<()> {
    let mut reader = message.reader();
    match (reader.text().as_str(), reader.text().as_str()) {
        ("server_encoding", encoding) if encoding != "UTF8" => {
            Err(refused(format!("its database has the encoding {encoding}; UTF8 is required"), USE_UTF8))
        }
        _ => Ok(()),
    }
}

fn refused(why: impl Into<String>, next: &'static str) -> DatabaseError {
    DatabaseError::Refused { why: why.into(), next }
}

/// One step of the authentication.
fn authenticate(message: &Message, address: &ServerAddress, scram: &mut Option<Scram>, wire: &mut Wire) -> Result<()> {
    let mut reader = message.reader();
    let kind = reader.long();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let unproven = || refused("the server did not prove that it knows the password", CHECK_ADDRESS);
    match (kind, scram.as_mut()) {
        // A server that started SCRAM must complete it: otherwise an impostor could skip the proof.
        (0, Some(scram)) if !scram.is_complete() => return Err(unproven()),
        (0, _) => return Ok(()),
        (3, None) if wire.is_local() => {
            let password = password(address)?;
            wire.put(b'p', |out| wire::text(out, password));
        }
        (3, None) => {
            let why = "the server asks for the password in plain text over an unencrypted connection";
            return Err(refused(why, USE_SCRAM));
        }
        (5, None) => {
            let hashed = auth::md5(&address.user, password(address)?, reader.bytes(4));
            wire.put(b'p', |out| wire::text(out, &hashed));
        }
        (10, None) => {
            let mut offered = std::iter::from_fn(|| Some(reader.text()).filter(|name| !name.is_empty()));
            if !offered.any(|name| name == "SCRAM-SHA-256") {
                return Err(refused("the server offers no supported password authentication", USE_SCRAM));
            }
            let new = Scram::new(password(address)?)?;
            let first = new.first();
            wire.put(b'p', |out| {
                wire::text(out, "SCRAM-SHA-256");
                out.extend((first.len() as u32).to_be_bytes());
                out.extend(first.bytes());
            });
            *scram = Some(new);
        }
        (11, Some(scram)) => {
            let response = scram.respond(&text(reader.0)).ok_or_else(unproven)?;
            wire.put(b'p', |out| out.extend(response.bytes()));
        }
        (12, Some(scram)) => return if scram.is_proven(&text(reader.0)) { Ok(()) } else { Err(unproven()) },
        _ => {
            let why = format!("the server asks for an unsupported authentication method ({kind})");
            return Err(refused(why, USE_SCRAM));
        }
    }
    Ok(wire.send()?)
}

fn password(address: &ServerAddress) -> Result<&str> {
    let given = address.password.as_ref().map(|secret| secret.0.as_str());
    given.ok_or_else(|| refused("the server asks for a password, and none was given", GIVE_PASSWORD))
}

/// The error that a server reports.
pub(super) fn server_error(message: &Message) -> DatabaseError {
    let mut reader = message.reader();
    let (mut code, mut text, mut detail) = (String::new(), String::new(), String::new());
    loop {
        match reader.byte() {
            0 => break,
            b'C' => code = reader.text(),
            b'M' => text = reader.text(),
            b'D' => detail = reader.text(),
            _ => drop(reader.text()),
        }
    }
    if !detail.is_empty() {
        text = format!("{text}: {detail}");
    }
    DatabaseError::Server { code, text }
}
