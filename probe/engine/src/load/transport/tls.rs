//! TLS: the configuration that all connections of a load share, and the session of one.

mod verify;

use super::LayerError;
use crate::load::error::ErrorKind;
use crate::load::plan::TlsPlan;
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::ring::default_provider;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, HandshakeKind, RootCertStore,
    SignatureScheme,
};
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use verify::{is_self_signed, Verifier};
use wire::text::failed;

/// Shared by all sessions of a load.
pub struct TlsConfig {
    client: Arc<ClientConfig>,
    identity: Arc<Identity>,
    name: ServerName<'static>,
}

impl TlsConfig {
    /// `protocols`: what is offered by ALPN. The error: certificates cannot be read, or the name is not possible.
    pub fn new(plan: &TlsPlan, protocols: &[&[u8]]) -> Result<TlsConfig, String> {
        let name = ServerName::try_from(plan.server_name.clone())
            .map_err(|_| format!("load: tls: {:?} is not a host", plan.server_name))?;
        let provider = Arc::new(default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(failed("load: tls"))?
            .dangerous();
        let identity = Arc::new(Identity::new(plan, &provider)?);
        let verifier = if plan.insecure {
            Verifier::accepting_any(&provider)
        } else {
            let (roots, own) = match &plan.cacert {
                Some(file) => (Vec::new(), certificates(file)?),
                None => (system_roots()?, Vec::new()),
            };
            let mut store = RootCertStore::empty();
            let (usable, _) = store.add_parsable_certificates(roots.iter().chain(&own).cloned());
            if usable == 0 {
                let file = plan.cacert.as_deref().unwrap_or("the system's certificates");
                return Err(format!("load: {file}: no certificate in it can be used"));
            }
            Verifier::new(store, own, provider)?
        };
        let builder = builder.with_custom_certificate_verifier(Arc::new(verifier));
        let mut client = builder.with_client_cert_resolver(Arc::clone(&identity) as Arc<_>);
        client.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        if !plan.resume {
            // Each handshake is a whole one, so that all measure the same.
            client.resumption = Resumption::disabled();
        }
        Ok(TlsConfig { client: Arc::new(client), identity, name })
    }
}

/// The client's certificate, where there is one.
#[derive(Debug)]
struct Identity {
    key: Option<Arc<CertifiedKey>>,
    was_asked: AtomicBool,
}

impl Identity {
    fn new(plan: &TlsPlan, provider: &CryptoProvider) -> Result<Identity, String> {
        let key = match (&plan.cert, &plan.key) {
            (Some(cert), Some(file)) => {
                let key = PrivateKeyDer::from_pem_file(file);
                let key = key.map_err(|_| format!("load: {file}: no private key (PEM) in it"))?;
                let chain = certificates(cert)?;
                let key = CertifiedKey::from_der(chain, key, provider)
                    .map_err(|_| format!("load: {file}: not the key of the certificate in {cert}"))?;
                Some(Arc::new(key))
            }
            (None, None) => None,
            _ => return Err("load: tls: cert and key belong together".into()),
        };
        let was_asked = AtomicBool::new(false);
        Ok(Identity { key, was_asked })
    }

    /// Why a server that has asked for a certificate refuses the session; None if it has not asked.
    fn refusal(&self) -> Option<&'static str> {
        let text = match self.key {
            None => "it asks for a certificate of the client: name one by --cert and --key",
            Some(_) => "it does not accept the certificate of --cert",
        };
        self.was_asked.load(Ordering::Relaxed).then_some(text)
    }
}

impl ResolvesClientCert for Identity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates: Vec<_> = read.map_err(|error| match error {
        PemError::Io(error) => format!("load: {file}: {error}"),
        _ => format!("load: {file}: not a file of certificates (PEM)"),
    })?;
    match certificates.is_empty() {
        true => Err(format!("load: {file}: no certificate (PEM) in it")),
        false => Ok(certificates),
    }
}

fn system_roots() -> Result<Vec<CertificateDer<'static>>, String> {
    let loaded = rustls_native_certs::load_native_certs();
    if loaded.certs.is_empty() {
        let why = loaded.errors.first().map(ToString::to_string);
        return Err(format!(
            "load: no certificates of the system are found{}: install ca-certificates, or use --cacert or --insecure",
            why.map_or_else(String::new, |why| format!(" ({why})"))
        ));
    }
    Ok(loaded.certs)
}

pub struct TlsSession {
    connection: ClientConnection,
    client: Arc<ClientConfig>,
    identity: Arc<Identity>,
    /// The peer has ended the session.
    pub has_ended: bool,
}

impl TlsSession {
    /// Begins a session; `output` has its first bytes.
    pub fn new(config: &TlsConfig) -> Result<TlsSession, LayerError> {
        let made = ClientConnection::new(Arc::clone(&config.client), config.name.clone());
        let mut connection = made.map_err(|error| fault(&error))?;
        connection.set_buffer_limit(None);
        let (client, identity) = (Arc::clone(&config.client), Arc::clone(&config.identity));
        Ok(TlsSession { connection, client, identity, has_ended: false })
    }

    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The protocol that the server chose by ALPN.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// Whether an earlier session was resumed.
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Version and cipher.
    pub fn description(&self) -> String {
        let version = self.connection.protocol_version();
        let cipher = self.connection.negotiated_cipher_suite();
        let name = |debug: String| debug.replace("TLSv1_", "TLSv1.");
        let version = version.map_or_else(String::new, |version| name(format!("{version:?}")));
        let cipher = cipher.map_or_else(String::new, |cipher| format!("{:?}", cipher.suite()));
        format!("{version} {cipher}")
    }

    /// Decrypts bytes from the socket; what they contain is appended, also where an error follows it.
    pub fn decrypt(&mut self, mut wire: &[u8], plain: &mut Vec<u8>) -> Result<(), LayerError> {
        while !wire.is_empty() && !self.has_ended {
            let read = self.connection.read_tls(&mut wire);
            let processed = self.connection.process_new_packets();
            self.drain(plain);
            let state = processed.map_err(|error| self.refusal(&error))?;
            self.has_ended |= state.peer_has_closed();
            if read.map_or(true, |count| count == 0) && !self.has_ended {
                return Err(LayerError::new(ErrorKind::Tls, "more than a session can buffer"));
            }
        }
        Ok(())
    }

    /// The fault of an error. A server that asks for a certificate may have ended the session because it got none.
    fn refusal(&self, error: &Error) -> LayerError {
        let Error::AlertReceived(alert) = error else { return fault(error) };
        if *alert == AlertDescription::NoApplicationProtocol {
            return match self.client.alpn_protocols.iter().any(|name| name == b"h2") {
                true => LayerError::new(ErrorKind::NoHttp2, "it refuses the protocol `h2` (ALPN)"),
                false => LayerError::new(ErrorKind::Http2, "it refuses the protocol `http/1.1` (ALPN)"),
            };
        }
        match self.identity.refusal() {
            Some(why) => LayerError::new(ErrorKind::ClientCertificate, &format!("{why} ({alert:?})")),
            None => fault(error),
        }
    }

    fn drain(&mut self, plain: &mut Vec<u8>) {
        let mut reader = self.connection.reader();
        while let Ok(piece) = reader.fill_buf() {
            let count = piece.len();
            if count == 0 {
                return;
            }
            plain.extend_from_slice(piece);
            reader.consume(count);
        }
    }

    /// Encrypts bytes for the socket, after what the session itself has to send.
    pub fn encrypt(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), LayerError> {
        let sent = self.connection.writer().write_all(plain);
        while sent.is_ok() && self.connection.wants_write() {
            if self.connection.write_tls(wire).is_err() {
                break;
            }
        }
        sent.map_err(|error| LayerError::new(ErrorKind::Tls, &error.to_string()))
    }
}

/// The meaning of an error for the user.
fn fault(error: &Error) -> LayerError {
    let Error::InvalidCertificate(why) = error else {
        let text = match error {
            Error::InvalidMessage(_) => "what it sends is not TLS".into(),
            Error::AlertReceived(alert) => format!("it refuses the session: {alert:?}"),
            _ => error.to_string(),
        };
        let kind = match error {
            Error::NoCertificatesPresented => ErrorKind::Certificate,
            _ => ErrorKind::Tls,
        };
        return LayerError::new(kind, &text);
    };
    let text = match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet".into()
        }
        CertificateError::UnknownIssuer => "it is not signed by a trusted CA".into(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host".into()
        }
        why if is_self_signed(why) => "it is self-signed".into(),
        _ => why.to_string(),
    };
    LayerError::new(ErrorKind::Certificate, &text)
}
