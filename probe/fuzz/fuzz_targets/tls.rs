//! A session of TLS with a server in the same process: what it sends arrives whole however its records are cut, and
//! nothing arrives of records that were changed. Bytes that are no handshake are an error or wait for more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::plan::TlsPlan;
use engine::load::transport::tls::{TlsSession, TlsConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io::Write;
use std::process::Command;
use std::sync::{Arc, OnceLock};

struct Both {
    client: TlsConfig,
    server: Arc<ServerConfig>,
}

/// The configurations, with a certificate of this run.
fn both() -> &'static Both {
    static BOTH: OnceLock<Both> = OnceLock::new();
    BOTH.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("ringside-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout own.key -out own.pem -days 9 -subj /CN=own";
        let made = Command::new("openssl").args(arguments.split(' ')).current_dir(&folder).output();
        assert!(made.is_ok_and(|made| made.status.success()), "openssl is needed");
        let certificate = CertificateDer::from_pem_file(folder.join("own.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(folder.join("own.key")).expect("a key");
        std::fs::remove_dir_all(&folder).expect("it is ours");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().expect("there are versions");
        let mut server = builder.with_no_client_auth().with_single_cert(vec![certificate], key).expect("a pair");
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        let plan = TlsPlan {
            server_name: "localhost".into(),
            cacert: None,
            cert: None,
            key: None,
            insecure: true,
            resume: false,
        };
        Both {
            client: TlsConfig::new(&plan, &[b"http/1.1"]).expect("a plan"),
            server: Arc::new(server),
        }
    })
}

/// Feeds a session in pieces; whether it accepted all.
fn fed(session: &mut TlsSession, wire: &[u8], step: usize, plain: &mut Vec<u8>, out: &mut Vec<u8>) -> bool {
    wire.chunks(step).all(|piece| {
        let decrypted = session.decrypt(piece, plain).is_ok();
        session.encrypt(&[], out).expect("there is room");
        decrypted
    })
}

/// Two that have shaken hands.
fn pair(step: usize) -> (TlsSession, ServerConnection) {
    let mut client = TlsSession::new(&both().client).expect("a session");
    let mut server = ServerConnection::new(Arc::clone(&both().server)).expect("a session");
    let (mut to_server, mut to_client, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    client.encrypt(&[], &mut to_server).expect("there is room");
    while client.is_handshaking() || server.is_handshaking() {
        let mut rest = &to_server[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).expect("from memory");
            server.process_new_packets().expect("the client is right");
        }
        to_server.clear();
        to_client.clear();
        while server.wants_write() {
            server.write_tls(&mut to_client).expect("to memory");
        }
        assert!(fed(&mut client, &to_client, step, &mut plain, &mut to_server));
    }
    assert!(plain.is_empty());
    (client, server)
}

/// The bytes after the handshake: texts in records. The last record is changed if `data` says so.
fn after_handshake(first: u8, data: &[u8]) {
    let step = usize::from(first >> 2) + 1;
    let (mut client, mut server) = pair(step.max(100));
    let (mut wire, mut right, mut plain, mut out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (texts, change) = data.split_at(data.len() - data.len().min(3));
    let mut last = 0;
    // Each in a record of its own.
    for text in texts.split(|&byte| byte == 0).flat_map(|text| text.chunks(10_000)) {
        last = wire.len();
        server.writer().write_all(text).expect("there is room");
        while server.wants_write() {
            server.write_tls(&mut wire).expect("to memory");
        }
        right.extend_from_slice(text);
    }
    let is_changed = match *change {
        [high, low, bits] if bits != 0 && wire.len() > last => {
            // The type and the version before the length are not authenticated: rustls takes any that it knows.
            let from = last + 3;
            let at = from + (usize::from(high) << 8 | usize::from(low)) % (wire.len() - from);
            wire[at] ^= bits;
            true
        }
        _ => false,
    };
    let accepted = fed(&mut client, &wire, step, &mut plain, &mut out);
    assert!(right.starts_with(&plain));
    assert!(!(accepted && is_changed) || plain.len() < right.len());
    if !is_changed {
        assert!(accepted && plain == right && !client.has_ended);
        wire.clear();
        server.send_close_notify();
        server.write_tls(&mut wire).expect("to memory");
        assert!(fed(&mut client, &wire, step, &mut plain, &mut out) && client.has_ended);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    if first & 1 == 1 {
        return after_handshake(first, data);
    }
    for step in [data.len().max(1), 1] {
        let mut session = TlsSession::new(&both().client).expect("a session");
        let (mut plain, mut out) = (Vec::new(), Vec::new());
        fed(&mut session, data, step, &mut plain, &mut out);
        // A key exchange with a server that it cannot know has no end.
        assert!(plain.is_empty() && session.is_handshaking());
        assert!(out.len() < 5000);
    }
});
