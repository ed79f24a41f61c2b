//! Who we are, proven without saying the password: SCRAM-SHA-256 (RFC 5802, RFC 7677), and the older MD5.

use std::io::Read;

use md5::Md5;
use sha2::{Digest, Sha256};

/// More rounds than any server asks for; one that asks for more wants to keep us busy.
const MOST_ROUNDS: u32 = 1_000_000;

/// A conversation in which both sides show that they know the password.
pub(super) struct Scram {
    password: String,
    nonce: String,
    /// What the server must show at the end.
    expected: Option<[u8; 32]>,
    over: bool,
}

impl Scram {
    /// Passwords beyond ASCII are taken as they are, not brought into a normal form first.
    pub(super) fn new(password: &str) -> std::io::Result<Self> {
        let mut noise = [0; 18];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut noise)?;
        Ok(Self { password: password.to_owned(), nonce: to_base64(&noise), expected: None, over: false })
    }

    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.bare())
    }

    /// The server knows the user already, so none is named.
    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// What to answer to the server's challenge. None: it is no challenge.
    pub(super) fn answer(&mut self, challenge: &str) -> Option<String> {
        let mut fields = challenge.split(',');
        let nonce = fields.next()?.strip_prefix("r=")?;
        let salt = from_base64(fields.next()?.strip_prefix("s=")?)?;
        let rounds: u32 = fields.next()?.strip_prefix("i=")?.parse().ok()?;
        if !nonce.starts_with(&self.nonce) || nonce == self.nonce || !(1..=MOST_ROUNDS).contains(&rounds) {
            return None;
        }
        let salted = salted(self.password.as_bytes(), &salt, rounds);
        let client = hmac(&salted, b"Client Key");
        let stored: [u8; 32] = Sha256::digest(client).into();
        let without_proof = format!("c=biws,r={nonce}");
        let said = format!("{},{challenge},{without_proof}", self.bare());
        let proof = xor(client, hmac(&stored, said.as_bytes()));
        self.expected = Some(hmac(&hmac(&salted, b"Server Key"), said.as_bytes()));
        Some(format!("{without_proof},p={}", to_base64(&proof)))
    }

    /// Whether the server has shown that it knows the password too.
    pub(super) fn is_proven(&mut self, last: &str) -> bool {
        let shown = last.strip_prefix("v=").and_then(from_base64);
        self.over = shown.is_some() && shown.as_deref() == self.expected.as_ref().map(<[u8; 32]>::as_slice);
        self.over
    }

    /// Whether both sides have shown what they know.
    pub(super) fn is_over(&self) -> bool {
        self.over
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

    /// The example of RFC 7677, in which the user is named.
    #[test]
    fn the_example_of_the_standard_is_answered_as_it_says() {
        let password = b"pencil";
        let salt = from_base64("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let said = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let salted = salted(password, &salt, 4096);
        let client = hmac(&salted, b"Client Key");
        let stored: [u8; 32] = Sha256::digest(client).into();
        let proof = xor(client, hmac(&stored, said.as_bytes()));
        assert_eq!(to_base64(&proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let server = hmac(&hmac(&salted, b"Server Key"), said.as_bytes());
        assert_eq!(to_base64(&server), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_not_believed() {
        let mut scram = Scram::new("pencil").unwrap();
        assert!(!scram.is_proven("v="), "before anything was said");
        assert_eq!(scram.answer("r=another,s=AAAA,i=4096"), None, "a nonce that does not go on from ours");
        let own = scram.nonce.clone();
        assert_eq!(scram.answer(&format!("r={own},s=AAAA,i=4096")), None, "a nonce that adds nothing");
        assert_eq!(scram.answer(&format!("r={own}x,s=AAAA,i=999999999")), None, "years of work");
        assert!(scram.answer(&format!("r={own}x,s=AAAA,i=1")).is_some());
        assert!(!scram.is_proven(&format!("v={}", to_base64(&[0; 32]))));
        let expected = scram.expected.unwrap();
        assert!(!scram.is_over());
        assert!(scram.is_proven(&format!("v={}", to_base64(&expected))));
        assert!(scram.is_over());
    }

    #[test]
    fn base64_goes_there_and_back() {
        for length in 0..40 {
            let bytes: Vec<u8> = (0..length).map(|n: u8| n.wrapping_mul(37)).collect();
            assert_eq!(from_base64(&to_base64(&bytes)).unwrap(), bytes);
        }
        assert_eq!(to_base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        assert_eq!(from_base64("a b"), None);
    }

    #[test]
    fn md5_is_what_servers_expect() {
        assert_eq!(md5("ann", "secret", &[1, 2, 3, 4]), "md59009ce60b9ca97f1e752376843d1309e");
    }
}
