//! The certificate of a server, and its key.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;

#[derive(Clone)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    own: CertificateDer<'static>,
}

impl Tls {
    /// Reads a chain of certificates, that of the server first, and its key, both as PEM. The error
    /// is a sentence.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, String> {
        let unreadable = |path: &Path, what: &str, error: &dyn std::fmt::Display| {
            format!("{} is not {what} in PEM ({error})", path.display())
        };
        let chain: Vec<CertificateDer> = CertificateDer::pem_file_iter(certificate)
            .and_then(|all| all.collect::<Result<_, _>>())
            .map_err(|error| unreadable(certificate, "a certificate", &error))?;
        let Some(own) = chain.first().cloned() else {
            return Err(format!("{} has no certificate", certificate.display()));
        };
        let key_der = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| unreadable(key, "a private key without a passphrase", &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key_der))
            .map_err(|error| format!("{} and {}: {error}", certificate.display(), key.display()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), own })
    }

    /// Whether the certificate names this host.
    pub(crate) fn is_valid_for(&self, host: &str) -> bool {
        let (Ok(certificate), Ok(name)) = (ParsedCertificate::try_from(&self.own), ServerName::try_from(host)) else {
            return false;
        };
        verify_server_name(&certificate, &name).is_ok()
    }
}
