//! What is wrong with a connection, above its socket.

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
