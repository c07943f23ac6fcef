//! Decides which certificates are accepted.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_name, WebPkiServerVerifier};
use rustls::crypto::{
    verify_tls12_signature, verify_tls13_signature, CryptoProvider, WebPkiSupportedAlgorithms,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;
use wire::text::failed;

/// Accepts certificates that a trusted authority has signed, and those that the user named themselves.
#[derive(Debug)]
pub struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
    /// None: any certificate is accepted whose key signs the handshake.
    by_authority: Option<Arc<WebPkiServerVerifier>>,
    named: Vec<CertificateDer<'static>>,
}

impl Verifier {
    pub fn new(
        roots: RootCertStore,
        named: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Verifier, String> {
        let mut verifier = Verifier::accepting_any(&provider);
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        verifier.by_authority = Some(built.map_err(failed("load: tls"))?);
        verifier.named = named;
        Ok(verifier)
    }

    pub fn accepting_any(provider: &CryptoProvider) -> Verifier {
        Verifier {
            algorithms: provider.signature_verification_algorithms,
            by_authority: None,
            named: Vec::new(),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(by_authority) = &self.by_authority else { return Ok(ServerCertVerified::assertion()) };
        let verified = by_authority.verify_server_cert(certificate, intermediates, name, ocsp, now);
        let is_named = self.named.iter().any(|named| named == certificate);
        match verified {
            // webpki takes a self-signed certificate for one of an authority, and refuses it for a server. It has
            // checked the dates before.
            Err(Error::InvalidCertificate(why)) if is_named && is_self_signed(&why) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Whether webpki refuses a certificate because it is self-signed, which only the text of its error says.
pub fn is_self_signed(why: &CertificateError) -> bool {
    matches!(why, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}
