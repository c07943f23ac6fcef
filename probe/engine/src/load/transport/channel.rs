//! What is directly above a socket: nothing, or a session of TLS.

use super::tls::{TlsConfig, TlsSession};
use crate::load::error::ErrorKind;

/// What was wrong with a connection.
#[derive(Debug)]
pub struct Fault {
    pub kind: ErrorKind,
    pub text: String,
}

impl Fault {
    pub fn new(kind: ErrorKind, text: &str) -> Fault {
        Fault {
            kind,
            text: text.into(),
        }
    }
}

pub enum Channel {
    Plain,
    Tls(Box<TlsSession>),
}

impl Channel {
    pub fn new(tls: Option<&TlsConfig>) -> Result<Channel, Fault> {
        Ok(match tls {
            None => Channel::Plain,
            Some(config) => Channel::Tls(Box::new(TlsSession::new(config)?)),
        })
    }

    pub fn session(&self) -> Option<&TlsSession> {
        match self {
            Channel::Plain => None,
            Channel::Tls(session) => Some(session),
        }
    }

    /// Whether bytes can be sent.
    pub fn is_open(&self) -> bool {
        self.session()
            .map_or(true, |session| !session.is_handshaking())
    }

    /// Whether the peer has ended what it sends, whatever its socket does.
    pub fn has_ended(&self) -> bool {
        self.session().is_some_and(|session| session.ended)
    }

    /// Whether the end of the connection, now, could be somebody else's than the peer's.
    pub fn can_be_cut(&self) -> bool {
        self.session().is_some_and(|session| !session.ended)
    }

    /// What bytes from the socket contain is appended, also where an error follows it.
    pub fn decrypt(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), Fault> {
        match self {
            Channel::Plain => {
                plain.extend_from_slice(wire);
                Ok(())
            }
            Channel::Tls(session) => session.decrypt(wire, plain),
        }
    }

    /// Bytes for the socket, after what the session itself has to send.
    pub fn encrypt(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), Fault> {
        match self {
            Channel::Plain => {
                wire.extend_from_slice(plain);
                Ok(())
            }
            Channel::Tls(session) => session.encrypt(plain, wire),
        }
    }
}
