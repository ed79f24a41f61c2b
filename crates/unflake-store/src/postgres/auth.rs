//! Password authentication: SCRAM-SHA-256 (RFC 5802, RFC 7677), and MD5 for older servers.

use std::io::Read;

use md5::Md5;
use sha2::{Digest, Sha256};

/// More rounds than any real server uses; the limit stops a malicious one from wasting CPU time.
const MAX_ROUNDS: u32 = 1_000_000;

/// A SCRAM exchange, in which both sides prove that they know the password.
pub(super) struct Scram {
    password: String,
    nonce: String,
    /// The signature that the server must send at the end.
    expected: Option<[u8; 32]>,
    is_complete: bool,
}

impl Scram {
    /// Passwords beyond ASCII are used as they are, without SASLprep.
    pub(super) fn new(password: &str) -> std::io::Result<Self> {
        let mut random = [0; 18];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        Ok(Self { password: password.to_owned(), nonce: to_base64(&random), expected: None, is_complete: false })
    }

    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.bare())
    }

    /// The startup message names the user, so this field is empty.
    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// The response to the server's challenge, or None if it is malformed.
    pub(super) fn respond(&mut self, challenge: &str) -> Option<String> {
        let mut fields = challenge.split(',');
        let nonce = fields.next()?.strip_prefix("r=")?;
        let salt = from_base64(fields.next()?.strip_prefix("s=")?)?;
        let rounds: u32 = fields.next()?.strip_prefix("i=")?.parse().ok()?;
        if !nonce.starts_with(&self.nonce) || nonce == self.nonce || !(1..=MAX_ROUNDS).contains(&rounds) {
            return None;
        }
        let salted = salted(self.password.as_bytes(), &salt, rounds);
        let client = hmac(&salted, b"Client Key");
        let stored: [u8; 32] = Sha256::digest(client).into();
        let without_proof = format!("c=biws,r={nonce}");
        let auth_message = format!("{},{challenge},{without_proof}", self.bare());
        let proof = xor(client, hmac(&stored, auth_message.as_bytes()));
        self.expected = Some(hmac(&hmac(&salted, b"Server Key"), auth_message.as_bytes()));
        Some(format!("{without_proof},p={}", to_base64(&proof)))
    }

    /// Whether the server has proven that it knows the password too.
    pub(super) fn is_proven(&mut self, last: &str) -> bool {
        let shown = last.strip_prefix("v=").and_then(from_base64);
        self.is_complete = shown.is_some() && shown.as_deref() == self.expected.as_ref().map(<[u8; 32]>::as_slice);
        self.is_complete
    }

    /// Whether both sides have finished their proofs.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }
}

pub(super) fn md5(user: &str, password: &str, salt: &[u8]) -> String {
    let inner = hex(&Md5::digest([password.as_bytes(), user.as_bytes()].concat()));
    format!("md5{}", hex(&Md5::digest([inner.as_bytes(), salt].concat())))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// PBKDF2 for a key of one block.
fn salted(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 32] {
    let mut last = hmac(password, &[salt, &1_u32.to_be_bytes()].concat());
    let mut all = last;
    for _ in 1..rounds {
        last = hmac(password, &last);
        all = xor(all, last);
    }
    all
}

fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

fn xor(mut one: [u8; 32], other: [u8; 32]) -> [u8; 32] {
    one.iter_mut().zip(other).for_each(|(one, other)| *one ^= other);
    one
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let one = DIGITS[(bits >> (18 - 6 * digit)) as usize & 63];
            text.push(if digit <= three.len() { char::from(one) } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | DIGITS.iter().position(|one| *one == digit)? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, which includes the user name.
    #[test]
    fn the_example_of_rfc_7677_matches() {
        let password = b"pencil";
        let salt = from_base64("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let auth_message = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let salted = salted(password, &salt, 4096);
        let client = hmac(&salted, b"Client Key");
        let stored: [u8; 32] = Sha256::digest(client).into();
        let proof = xor(client, hmac(&stored, auth_message.as_bytes()));
        assert_eq!(to_base64(&proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let server = hmac(&hmac(&salted, b"Server Key"), auth_message.as_bytes());
        assert_eq!(to_base64(&server), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn a_server_without_the_password_is_rejected() {
        let mut scram = Scram::new("pencil").unwrap();
        assert!(!scram.is_proven("v="), "before the challenge");
        assert_eq!(scram.respond("r=another,s=AAAA,i=4096"), None, "a nonce that does not go on from ours");
        let own = scram.nonce.clone();
        assert_eq!(scram.respond(&format!("r={own},s=AAAA,i=4096")), None, "a nonce that adds nothing");
        assert_eq!(scram.respond(&format!("r={own}x,s=AAAA,i=999999999")), None, "years of work");
        assert!(scram.respond(&format!("r={own}x,s=AAAA,i=1")).is_some());
        assert!(!scram.is_proven(&format!("v={}", to_base64(&[0; 32]))));
        let expected = scram.expected.unwrap();
        assert!(!scram.is_complete());
        assert!(scram.is_proven(&format!("v={}", to_base64(&expected))));
        assert!(scram.is_complete());
    }

    #[test]
    fn base64_round_trips() {
        for length in 0..40 {
            let bytes: Vec<u8> = (0..length).map(|n: u8| n.wrapping_mul(37)).collect();
            assert_eq!(from_base64(&to_base64(&bytes)).unwrap(), bytes);
        }
        assert_eq!(to_base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        assert_eq!(from_base64("a b"), None);
    }

    #[test]
    fn md5_matches_the_server_format() {
        assert_eq!(md5("ann", "secret", &[1, 2, 3, 4]), "md59009ce60b9ca97f1e752376843d1309e");
    }
}
