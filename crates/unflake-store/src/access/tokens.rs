//! Access tokens. Only their hashes are stored.

use std::fmt;

use rusqlite::params;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unflake_model::Timestamp;

use crate::database::{Result, Row};
use crate::enum_columns::EnumName;
use crate::{AuditEntry, Store, StoreError};

/// What the owner of a token may do with the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessRole {
    Read,
    /// Includes [`AccessRole::Read`].
    Write,
}

/// A token that is to be stored.
#[derive(Clone)]
pub struct NewToken<'a> {
    pub name: &'a str,
    pub secret: &'a str,
    pub role: AccessRole,
    pub created: Timestamp,
    pub expires: Timestamp,
}

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    pub name: String,
    pub role: AccessRole,
    pub created: Timestamp,
    pub expires: Timestamp,
    pub revoked: Option<Timestamp>,
}

impl StoredToken {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && now < self.expires
    }
}

impl fmt::Display for AccessRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

impl Store {
    /// Stores a token, with an entry in the audit log. False if a valid one has this name.
    pub fn create_token(&mut self, token: &NewToken, entry: &AuditEntry) -> Result<bool, StoreError> {
        self.write(|writer| {
            let same = "SELECT count(*) FROM token WHERE name = ? AND revoked IS NULL AND expires > ?";
            if writer.database.find(same, params![token.name, token.created.0])?.unwrap_or_default() > 0 {
                return Ok(false);
            }
            writer.insert(
                "INSERT INTO token (name, secret, role, created, expires) VALUES (?, ?, ?, ?, ?)",
                [&token.name, &hash(token.secret), &EnumName(token.role), &token.created.0, &token.expires.0],
            )?;
            writer.audit(entry)?;
            Ok(true)
        })
    }

    /// Ends a valid token, with an entry in the audit log. False if there is none of this name.
    pub fn revoke_token(&mut self, name: &str, entry: &AuditEntry) -> Result<bool, StoreError> {
        self.write(|writer| {
            let sql = "UPDATE token SET revoked = ?2 WHERE name = ?1 AND revoked IS NULL AND expires > ?2";
            if writer.database.execute(sql, params![name, entry.at.0])? == 0 {
                return Ok(false);
            }
            writer.audit(entry)?;
            Ok(true)
        })
    }

    /// All tokens, oldest first.
    pub fn tokens(&self) -> Result<Vec<StoredToken>, StoreError> {
        self.list(&format!("{TOKEN} ORDER BY id"), &[], stored)
    }

    /// The valid token with this secret.
    pub fn token_of(&self, secret: &str, now: Timestamp) -> Result<Option<StoredToken>, StoreError> {
        let found = self.list(&format!("{TOKEN} WHERE secret = ?"), params![hash(secret)], stored)?;
        Ok(found.into_iter().find(|token| token.is_valid(now)))
    }
}

const TOKEN: &str = "SELECT name, role, created, expires, revoked FROM token";

fn stored(row: &Row) -> Result<StoredToken> {
    Ok(StoredToken {
        name: row.get(0)?,
        role: row.get::<EnumName<AccessRole>>(1)?.0,
        created: Timestamp(row.get(2)?),
        expires: Timestamp(row.get(3)?),
        revoked: row.get::<Option<i64>>(4)?.map(Timestamp),
    })
}

/// Secrets are long and random, so one round without salt is enough.
fn hash(secret: &str) -> String {
    Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect()
}
