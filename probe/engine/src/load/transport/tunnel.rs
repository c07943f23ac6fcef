//! A tunnel through a proxy: CONNECT (RFC 9110, section 9.3.6).

use super::LayerError;
use crate::load::error::ErrorKind;
use crate::load::http_head::{parse_status, MAX_HEAD_BYTES};
use crate::load::plan::TunnelPlan;

/// A connection to a proxy that has not accepted CONNECT yet.
pub struct Tunnel {
    /// The CONNECT request; empty once it is sent.
    pub request: Vec<u8>,
    held: Vec<u8>,
}

pub fn request(plan: &TunnelPlan) -> Vec<u8> {
    let TunnelPlan { authority, authorization } = plan;
    let credentials = authorization
        .as_ref()
        .map_or_else(String::new, |text| format!("Proxy-Authorization: Basic {text}\r\n"));
    format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{credentials}\r\n").into()
}

impl Tunnel {
    pub fn new(request: &[u8]) -> Tunnel {
        Tunnel { request: request.into(), held: Vec::new() }
    }

    /// Takes bytes of the proxy's reply. Once the proxy accepts, returns the bytes after its reply.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, LayerError> {
        let refused = |why: &str| LayerError::new(ErrorKind::Proxy, why);
        let end = head_end(&mut self.held, bytes, b"HTTP/1.")
            .map_err(|_| refused("what the proxy sends is not HTTP/1.1"))?;
        let Some(end) = end else { return Ok(None) };
        match parse_status(&self.held[..end]) {
            Some(200..=299) => Ok(Some(self.held.split_off(end))),
            Some(407) => Err(refused(
                "the proxy answers 407 to CONNECT: name a user, as http://USER:PASSWORD@HOST:PORT",
            )),
            Some(status) => Err(refused(&format!("the proxy answers {status} to CONNECT"))),
            None => Err(refused("what the proxy sends is not HTTP/1.1")),
        }
    }
}

/// Adds bytes to those of a reply that begins with `expected`; the length of its head, once that is complete.
pub fn head_end(held: &mut Vec<u8>, bytes: &[u8], expected: &[u8]) -> Result<Option<usize>, LayerError> {
    // The first bytes tell, so that a server without end is not read to the limit.
    let before = held.len();
    held.extend_from_slice(bytes);
    let count = held.len().min(expected.len());
    if held[..count] != expected[..count] {
        return Err(LayerError::new(ErrorKind::Protocol, "its reply is not HTTP/1.1"));
    }
    // A head that comes byte by byte is parsed where it can have ended.
    let from = before.saturating_sub(3);
    let end = memchr::memmem::find(&held[from..], b"\r\n\r\n");
    let end = end.map(|end| from + end + 4);
    match end.filter(|&end| end <= MAX_HEAD_BYTES) {
        None if held.len() > MAX_HEAD_BYTES => {
            Err(LayerError::new(ErrorKind::TooLarge, "its reply has no end"))
        }
        end => Ok(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(reply: &[u8], step: usize) -> Result<Vec<u8>, String> {
        let (mut tunnel, mut after) = (Tunnel::new(b""), None);
        for piece in reply.chunks(step) {
            match &mut after {
                None => after = tunnel.feed(piece).map_err(|fault| fault.text)?,
                Some(after) => after.extend_from_slice(piece),
            }
        }
        after.ok_or_else(|| "more".into())
    }

    #[test]
    fn a_proxy_accepts_or_says_why_not() {
        for step in [1, 7, 1000] {
            let ok = b"HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\nnext";
            assert_eq!(fed(ok, step), Ok(b"next".to_vec()));
            let text = |reply: &[u8]| fed(reply, step).unwrap_err();
            assert_eq!(text(b"HTTP/1.1 200 OK\r\n"), "more");
            assert!(text(b"HTTP/1.1 403 No\r\n\r\n").contains("403 to CONNECT"));
            assert!(text(b"HTTP/1.1 407 Who\r\n\r\n").contains("USER:PASSWORD"));
            assert!(text(b"SSH-2.0-x\r\n\r\n").contains("not HTTP/1.1"));
            assert!(text(b"HTTP/1.1 nonsense\r\n\r\n").contains("not HTTP/1.1"));
            assert!(text(&[&b"HTTP/1.1 200 O"[..], &[b'x'; 300_000]].concat()).contains("not HTTP"));
        }
    }

    #[test]
    fn what_a_proxy_is_asked() {
        let asked = |authorization: Option<&str>| {
            let text = request(&TunnelPlan {
                authority: "[::1]:443".into(),
                authorization: authorization.map(str::to_owned),
            });
            String::from_utf8(text).unwrap()
        };
        assert_eq!(asked(None), "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n");
        assert!(asked(Some("dTpw")).ends_with("\r\nProxy-Authorization: Basic dTpw\r\n\r\n"));
    }
}
