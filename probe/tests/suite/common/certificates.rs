//! Certificates, made by openssl for this run of the tests.
#![allow(dead_code)]

use super::server::Server;
use super::Folder;
use ring::aead;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ConnectionTrafficSecrets, ProtocolVersion, ServerConfig, ServerConnection, StreamOwned,
    SupportedProtocolVersion, DEFAULT_VERSIONS,
};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

/// A connection of a server inside TLS.
pub type Secure = StreamOwned<ServerConnection, TcpStream>;

static FOLDER: OnceLock<Folder> = OnceLock::new();

fn openssl(folder: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder);
    let done = command.stdout(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A file of an authority, `ca.pem`, and of its servers: `good`, `expired`, `other` (for another host); `own` has signed
/// itself. Each has a key.
pub fn file(name: &str) -> String {
    let folder = FOLDER.get_or_init(|| {
        let folder = Folder::new();
        let path = folder.path();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(path, &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 9 -subj /CN=authority"));
        openssl(path, &format!(
            "req -x509 {key} -keyout own.key -out own.pem -days 9 -subj /CN=own -addext subjectAltName=DNS:localhost"
        ));
        for (name, hosts, days) in [
            ("good", "DNS:localhost,IP:127.0.0.1", 9),
            ("expired", "DNS:localhost", 0),
            ("other", "DNS:elsewhere.test", 9),
        ] {
            std::fs::write(path.join("extension"), format!("subjectAltName={hosts}\n")).unwrap();
            openssl(path, &format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            openssl(path, &format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days {days} -extfile extension -out {name}.pem"
            ));
        }
        // A certificate for no days ends in the second of its birth.
        std::thread::sleep(std::time::Duration::from_millis(2100));
        folder
    });
    folder.path().join(name).display().to_string()
}

/// A server inside TLS. `protocols`: what it speaks, by ALPN.
pub fn serve(
    certificate: &str,
    protocols: &[&str],
    serve: impl Fn(Secure, u64) + Send + Sync + 'static,
) -> Server {
    serve_versions(DEFAULT_VERSIONS, certificate, protocols, serve)
}

/// The same with these versions of TLS.
pub fn serve_versions(
    versions: &[&'static SupportedProtocolVersion],
    certificate: &str,
    protocols: &[&str],
    serve: impl Fn(Secure, u64) + Send + Sync + 'static,
) -> Server {
    let chain = CertificateDer::pem_file_iter(file(&format!("{certificate}.pem")));
    let chain = chain.unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(file(&format!("{certificate}.key"))).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(versions).unwrap();
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key).unwrap();
    // For `Records`.
    config.enable_secret_extraction = true;
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let config = Arc::new(config);
    Server::start(move |stream, number| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        serve(StreamOwned::new(connection, stream), number);
    })
}

/// Writes valid records of application data that rustls itself would never write, such as empty ones.
pub struct Records {
    key: aead::LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    is_tls13: bool,
    /// For AES in TLS 1.2: the record contains a part of the nonce.
    has_nonce: bool,
}

impl Records {
    /// After the last byte of a session. The socket is its.
    pub fn after(mut session: Secure) -> (Records, TcpStream) {
        session.flush().unwrap();
        let is_tls13 = session.conn.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        let (sequence, secrets) = session.conn.dangerous_extract_secrets().unwrap().tx;
        let (algorithm, key, iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&aead::AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&aead::AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&aead::CHACHA20_POLY1305, key, iv),
            _ => panic!("another cipher"),
        };
        let key = aead::UnboundKey::new(algorithm, key.as_ref()).unwrap();
        let records = Records {
            key: aead::LessSafeKey::new(key),
            iv: iv.as_ref().try_into().unwrap(),
            sequence,
            is_tls13,
            has_nonce: !is_tls13 && *algorithm != aead::CHACHA20_POLY1305,
        };
        (records, session.sock)
    }

    /// Appends a record. `padding`: zeroes that TLS 1.3 lets follow its content.
    pub fn append(&mut self, content: &[u8], padding: usize, wire: &mut Vec<u8>) {
        let mut nonce = self.iv;
        for (byte, own) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= own;
        }
        let mut sealed = content.to_vec();
        if self.is_tls13 {
            sealed.push(23);
            sealed.resize(sealed.len() + padding, 0);
        }
        let explicit = if self.has_nonce { &nonce[4..] } else { &[] };
        let length = explicit.len() + sealed.len() + 16;
        let header = |length: usize| {
            let [high, low] = (length as u16).to_be_bytes();
            [23, 3, 3, high, low]
        };
        let authenticated = match self.is_tls13 {
            true => header(length).to_vec(),
            false => [&self.sequence.to_be_bytes()[..], &header(content.len())].concat(),
        };
        let unique = aead::Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(unique, aead::Aad::from(authenticated), &mut sealed).unwrap();
        self.sequence += 1;
        for part in [&header(length)[..], explicit, &sealed] {
            wire.extend_from_slice(part);
        }
    }
}
