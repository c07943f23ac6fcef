//! The state of one connection.

use crate::load::decoder::ReplyState;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Not connected.
    #[default]
    Closed,
    Connecting,
    /// The socket is connected, and the layer above it shakes hands.
    Handshaking,
    /// Waits for the connection of another slot.
    Joining,
    /// Connected, without a request.
    Free,
    /// A reply is pending.
    Busy,
    /// Reset by a fault: not opened again.
    Removed,
}

/// A redirect that is followed: what to ask for now.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// How many redirects there were.
    pub count: u8,
    pub as_get: bool,
}

#[derive(Default)]
pub struct Connection {
    pub stage: Stage,
    /// Start of the present stage; of a stream, the arrival of its last bytes.
    pub since_ns: u64,
    /// The intended instant of a request that waits for the connect.
    pub pending_ns: Option<u64>,
    pub intended_ns: u64,
    /// When the request could have been sent: its intended instant, but not before the connection was free.
    pub ready_ns: u64,
    pub sent_ns: u64,
    /// By how much the engine was late to open the connection of this request, or of this stream.
    pub open_late_ns: u64,
    /// The number of the request, and the number of its target.
    pub number: u64,
    pub target: usize,
    /// After a redirect.
    pub hop: Option<Hop>,
    /// The path of the request, where redirects are followed.
    pub path: Vec<u8>,
    /// The first byte of the reply has arrived.
    pub answered: bool,
    /// It stands for its connection where these are counted.
    pub owns: bool,
    /// How often in succession the server has declared that it had not processed the request.
    pub refusals: u8,
    /// A message of a stream has arrived, on this connection or an earlier one of its slot.
    pub fed: bool,
    pub paused: bool,
    /// It has been paused: late messages are not the server's fault.
    pub was_paused: bool,
    pub reply: ReplyState,
}

impl Connection {
    /// Remembers the path of a request that is sent, which a relative redirect begins with.
    pub fn keep_path(&mut self, request: &[u8]) {
        let path = request.split(|&byte| byte == b' ').nth(1);
        self.path.clear();
        self.path.extend_from_slice(path.unwrap_or(b"/"));
        self.hop = None;
    }
}
