//! TLS as libpq's `sslmode` describes it: whether to encrypt, and what the server must prove.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::database::{DatabaseError, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(crate) enum SslMode {
    /// Never.
    Disable,
    /// Only if the server insists.
    Allow,
    /// If the server can, whoever it is.
    #[default]
    Prefer,
    /// Always, whoever the server is.
    Require,
    /// The certificate of the server must come from a known authority.
    VerifyCa,
    /// And it must name the host.
    VerifyFull,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum ChannelBinding {
    Disable,
    #[default]
    Prefer,
    Require,
}

/// The certificates of known authorities.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RootCertificates {
    File(PathBuf),
    System,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TlsSettings {
    pub(crate) mode: SslMode,
    pub(crate) channel_binding: ChannelBinding,
    pub(crate) roots: Option<RootCertificates>,
    /// Our own certificate, and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

impl SslMode {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

impl ChannelBinding {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            _ => return None,
        })
    }
}

/// Reads the certificates that the settings name.
pub(super) fn client_config(settings: &TlsSettings) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = ServerVerifier { chain: chain(settings, &provider)?, provider: Arc::clone(&provider) };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let config = match &settings.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            check_permissions(key)?;
            let chain = certificates(certificate)?;
            let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| {
                refused(format!("{} is not a private key in PEM without a passphrase ({error})", key.display()))
            })?;
            builder
                .with_client_auth_cert(chain, key_der)
                .map_err(|error| refused(format!("{} and its key: {error}", certificate.display())))?
        }
    };
    Ok(Arc::new(config))
}

const CHECK_FILES: &str = "Check sslrootcert, sslcert and sslkey";

fn refused(why: String) -> DatabaseError {
    DatabaseError::Refused { why, next: CHECK_FILES }
}

/// Like libpq: nobody else may read the key, except a group if root owns the file.
fn check_permissions(key: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(key).map_err(|error| refused(format!("{}: {error}", key.display())))?;
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.permissions().mode() & forbidden == 0 {
        return Ok(());
    }
    Err(refused(format!("others can read the private key {}; `chmod 600` it", key.display())))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    let all = read.map_err(|error| refused(format!("{} cannot be read ({error})", path.display())))?;
    if all.is_empty() { Err(refused(format!("{} contains no certificate", path.display()))) } else { Ok(all) }
}

/// How the certificate of the server is checked. None: it is not.
#[derive(Debug)]
struct ChainVerifier {
    inner: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
    needs_name: bool,
}

fn chain(settings: &TlsSettings, provider: &Arc<CryptoProvider>) -> Result<Option<ChainVerifier>> {
    if settings.mode < SslMode::Require {
        return Ok(None);
    }
    let roots = match &settings.roots {
        Some(RootCertificates::File(path)) if settings.mode > SslMode::Require || path.exists() => certificates(path)?,
        Some(RootCertificates::System) => rustls_native_certs::load_native_certs().certs,
        _ => return Ok(None),
    };
    let mut store = RootCertStore::empty();
    // A certificate that cannot be an authority, such as the server's own, is compared as a whole.
    store.add_parsable_certificates(roots.iter().cloned());
    if store.is_empty() {
        return Err(refused("there is no certificate of an authority that can be used".to_owned()));
    }
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|error| refused(error.to_string()))?;
    Ok(Some(ChainVerifier { inner, roots, needs_name: settings.mode == SslMode::VerifyFull }))
}

impl ChainVerifier {
    fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> std::result::Result<(), Error> {
        // The name is checked last, so an error of the name means a valid chain.
        let wrong_name = match self.inner.verify_server_cert(certificate, intermediates, name, &[], now) {
            Ok(_) => None,
            Err(
                error @ Error::InvalidCertificate(
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                ),
            ) => Some(error),
            // A server that is its own authority, known by exactly this certificate. Its validity
            // is checked before this error.
            Err(Error::InvalidCertificate(CertificateError::Other(OtherError(why))))
                if why.to_string() == "CaUsedAsEndEntity" && self.roots.iter().any(|root| root == certificate) =>
            {
                let parsed = ParsedCertificate::try_from(certificate)?;
                rustls::client::verify_server_name(&parsed, name).err()
            }
            Err(error) => return Err(error),
        };
        wrong_name.filter(|_| self.needs_name).map_or(Ok(()), Err)
    }
}

#[derive(Debug)]
struct ServerVerifier {
    chain: Option<ChainVerifier>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        let verify = |chain: &ChainVerifier| chain.verify(certificate, intermediates, name, now);
        self.chain.as_ref().map_or(Ok(()), verify).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let result = verify_tls13_signature(message, certificate, signature, algorithms);
        match (&result, &self.chain, public_key(certificate)) {
            // A certificate of version 1, as older versions of OpenSSL make them. It need not prove
            // anything here, only carry the key.
            (Err(_), None, Some(key)) => {
                verify_tls13_signature_with_raw_key(message, &key.into(), signature, algorithms)
            }
            _ => result,
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What binds a SCRAM login to this connection (RFC 5929, `tls-server-end-point`): a hash of the
/// certificate by the algorithm of its signature. None where that names no hash (Ed25519, PSS).
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
    const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let sha256 = || Sha256::digest(certificate).to_vec();
    let sha384 = || Sha384::digest(certificate).to_vec();
    let sha512 = || Sha512::digest(certificate).to_vec();
    let algorithm = signature_algorithm(certificate)?;
    if algorithm == ECDSA_SHA1 {
        return Some(sha256());
    }
    let (last, family) = algorithm.split_last()?;
    match (family, last) {
        // MD5 and SHA-1 are replaced by SHA-256.
        (RSA, 4 | 5 | 11) | (ECDSA_SHA2, 2) => Some(sha256()),
        (RSA, 12) | (ECDSA_SHA2, 3) => Some(sha384()),
        (RSA, 13) | (ECDSA_SHA2, 4) => Some(sha512()),
        _ => None,
    }
}

/// The object id in `Certificate ::= SEQUENCE { tbs, SEQUENCE { id, … }, signature }`.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (_, certificate, _) = der(certificate)?;
    let (_, _, after_tbs) = der(certificate)?;
    let (_, algorithm, _) = der(after_tbs)?;
    let (tag, id, _) = der(algorithm)?;
    (tag == 6).then_some(id)
}

/// The public key in `tbs ::= SEQUENCE { [0] version, serial, algorithm, issuer, validity, subject,
/// key, … }`, where the version may be absent.
fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let (_, certificate, _) = der(certificate)?;
    let (_, mut rest, _) = der(certificate)?;
    if rest.first() == Some(&0xa0) {
        rest = der(rest)?.2;
    }
    for _ in ["serial", "algorithm", "issuer", "validity", "subject"] {
        rest = der(rest)?.2;
    }
    let (_, _, after) = der(rest)?;
    Some(&rest[..rest.len() - after.len()])
}

/// The tag and contents of the first DER value, and what follows it.
fn der(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, length], rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match usize::from(length) {
        short @ 0..0x80 => (short, rest),
        long => {
            let (digits, rest) = rest.split_at_checked(long & 0x7f)?;
            if digits.len() > 4 {
                return None;
            }
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((tag, contents, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate with an empty first part and this signature algorithm.
    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let value = |tag: u8, contents: &[u8]| [&[tag, contents.len() as u8], contents].concat();
        value(0x30, &[value(0x30, &[]), value(0x30, &value(6, algorithm))].concat())
    }

    #[test]
    fn the_hash_of_the_end_point_follows_the_signature() {
        let check = |algorithm: &[u8], length: Option<usize>| {
            assert_eq!(end_point(&certificate(algorithm)).map(|hash| hash.len()), length, "{algorithm:?}");
        };
        let rsa = |last| [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, last];
        check(&rsa(5), Some(32));
        check(&rsa(11), Some(32));
        check(&rsa(12), Some(48));
        check(&rsa(13), Some(64));
        check(&rsa(10), None);
        check(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], Some(48));
        check(&[0x2b, 0x65, 0x70], None);
    }

    #[test]
    fn malformed_certificates_have_no_end_point() {
        for length in 0..certificate(&[1; 9]).len() {
            assert_eq!(end_point(&certificate(&[1; 9])[..length]), None);
        }
        assert_eq!(end_point(&[0x30, 0x89, 1, 1, 1, 1, 1, 1, 1, 1, 1]), None);
    }
}
