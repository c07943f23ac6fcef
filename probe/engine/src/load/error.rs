//! Kinds of errors of a load.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The meaning of an error for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The server answered something else than it was asked for.
    WrongAnswer,
    /// A request without an answer: its time is in no figure, or is a lower bound of one that timed out.
    Unanswered,
    /// The plan intends this error.
    Planned,
}

/// Makes the kinds from a table: variant, name in messages, judgement.
macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $judgement:ident;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ErrorKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)*
        }

        impl ErrorKind {
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind,)*];

            /// Its name in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => $name,)*
                }
            }

            pub fn judgement(self) -> Judgement {
                match self {
                    $(ErrorKind::$kind => Judgement::$judgement,)*
                }
            }
        }
    };
}

error_kinds! {
    ConnectRefused, "connect-refused", Unanswered;
    ConnectTimeout, "connect-timeout", Unanswered;
    ConnectFailed, "connect-failed", Unanswered;
    PortsExhausted, "ports-exhausted", Unanswered;
    DescriptorsExhausted, "descriptors-exhausted", Unanswered;
    Send, "send", Unanswered;
    Reset, "reset", Unanswered;
    ClosedEarly, "closed-early", Unanswered;
    /// A response that was to be held open is complete.
    Ended, "ended", Unanswered;
    Truncated, "truncated", Unanswered;
    Timeout, "timeout", Unanswered;
    Protocol, "protocol", WrongAnswer;
    /// The server sent a TLS record in place of HTTP, or broke the rules of TLS.
    Tls, "tls", WrongAnswer;
    /// The server probably sent an HTTP/2 frame.
    Http2, "http2", WrongAnswer;
    TooLarge, "too-large", WrongAnswer;
    Unsolicited, "unsolicited", WrongAnswer;
    Status, "status", WrongAnswer;
    Content, "content", WrongAnswer;
    /// The server's certificate is not accepted.
    Certificate, "certificate", Unanswered;
    /// A handshake above the socket took too long.
    HandshakeTimeout, "handshake-timeout", Unanswered;
    /// The server does not choose HTTP/2.
    NoHttp2, "no-http2", WrongAnswer;
    /// The proxy does not lead on to the server.
    Proxy, "proxy", Unanswered;
    /// The server does not make the connection a WebSocket.
    Upgrade, "upgrade", WrongAnswer;
    /// The server reset a stream.
    StreamReset, "stream-reset", Unanswered;
    /// The server ended an HTTP/2 connection with an error, or again and again before it processed a request.
    GoAway, "goaway", Unanswered;
    /// The server asks for a certificate of the client, and got none that it accepts.
    ClientCertificate, "client-certificate", Unanswered;
    /// The reply was complete before all of the request was sent.
    EarlyReply, "early-reply", WrongAnswer;
    /// The client hung up, as the plan says: the answer did not come in time.
    HungUp, "hung-up", Planned;
}

impl ErrorKind {
    /// Whether a request with this error was given up: its latency is at least the time until then. With another error
    /// its latency is unknown.
    pub fn is_timeout(self) -> bool {
        use ErrorKind::*;
        matches!(self, Timeout | ConnectTimeout | HandshakeTimeout)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(self.name())
    }
}
