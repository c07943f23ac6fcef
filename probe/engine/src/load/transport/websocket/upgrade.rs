//! The handshake of WebSocket (RFC 6455, section 4.1).

use crate::load::error::ErrorKind;
use crate::load::http_head::{trimmed, MAX_FIELDS};
use crate::load::transport::tunnel::head_end;
use crate::load::transport::LayerError;
use ring::digest::{digest, SHA1_FOR_LEGACY_USE_ONLY};

/// From RFC 6455, section 1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A handshake whose reply has not come as a whole.
pub struct Upgrade {
    key: String,
    /// Subprotocols that the request names.
    offered: Vec<Vec<u8>>,
    held: Vec<u8>,
}

impl Upgrade {
    pub fn new(nonce: [u8; 16]) -> Upgrade {
        Upgrade { key: base64(&nonce), offered: Vec::new(), held: Vec::new() }
    }

    /// The bytes of the request. `head`: one for the same target, with its empty line.
    pub fn request(&mut self, head: &[u8]) -> Vec<u8> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        if request.parse(head).is_ok() {
            let offered = tokens(request.headers, "sec-websocket-protocol");
            self.offered = offered.map(<[u8]>::to_vec).collect();
        }
        let mut bytes = head.strip_suffix(b"\r\n").unwrap_or(head).to_vec();
        let fields = [
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ",
            &self.key,
            "\r\n\r\n",
        ];
        bytes.extend_from_slice(fields.concat().as_bytes());
        bytes
    }

    /// Takes bytes of the reply; once it is complete, and accepts, what came after it.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, LayerError> {
        let Some(end) = head_end(&mut self.held, bytes, b"HTTP/1.1 ")? else { return Ok(None) };
        self.check(&self.held[..end])?;
        Ok(Some(self.held.split_off(end)))
    }

    fn check(&self, head: &[u8]) -> Result<(), LayerError> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let refused = |why: &str| Err(LayerError::new(ErrorKind::Upgrade, why));
        if !matches!(response.parse(head), Ok(httparse::Status::Complete(_))) {
            return Err(LayerError::new(ErrorKind::Protocol, "its reply is not HTTP/1.1"));
        }
        let status = response.code.unwrap_or(0);
        if status != 101 {
            return refused(&format!("it answers {status} to the request for a WebSocket"));
        }
        let values = |name: &'static str| tokens(response.headers, name);
        let has =
            |name: &'static str, token: &[u8]| values(name).any(|text| text.eq_ignore_ascii_case(token));
        if !has("upgrade", b"websocket") || !has("connection", b"upgrade") {
            let [upgrade, connection] = ["upgrade", "connection"].map(|name| names(values(name)));
            return refused(&format!(
                "its reply is not one of a WebSocket (Upgrade: {upgrade}; Connection: {connection})"
            ));
        }
        let mut chosen = values("sec-websocket-protocol");
        let (first, second) = (chosen.next(), chosen.next());
        let is_offered = first.map_or(true, |first| self.offered.iter().any(|each| each == first));
        if !is_offered || second.is_some() {
            let chosen = names(values("sec-websocket-protocol"));
            let offered = names(self.offered.iter().map(Vec::as_slice));
            return refused(&format!("it chooses the subprotocol {chosen}; offered: {offered}"));
        }
        if values("sec-websocket-extensions").next().is_some() {
            let chosen = names(values("sec-websocket-extensions"));
            return refused(&format!("it chooses the extension {chosen}, and none was offered"));
        }
        let accept =
            base64(digest(&SHA1_FOR_LEGACY_USE_ONLY, &[self.key.as_bytes(), GUID].concat()).as_ref());
        let mut accepts = values("sec-websocket-accept");
        match (accepts.next(), accepts.next()) {
            (Some(value), None) if value == accept.as_bytes() => Ok(()),
            _ => refused("its Sec-WebSocket-Accept is wrong"),
        }
    }
}

/// The values of the fields of a name, which commas part.
fn tokens<'a>(fields: &'a [httparse::Header<'a>], name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    let named = fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
    named.flat_map(|field| field.value.split(|&byte| byte == b',').map(trimmed))
}

/// Names of a head for a message, which may be shown on a terminal.
fn names<'a>(tokens: impl Iterator<Item = &'a [u8]>) -> String {
    let quoted = tokens.map(|token| format!("`{}`", token[..token.len().min(60)].escape_ascii()));
    let text = quoted.collect::<Vec<_>>().join(", ");
    if text.is_empty() {
        "none".into()
    } else {
        text
    }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*group.get(at).unwrap_or(&0)));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::http_head::MAX_HEAD_BYTES;

    /// The example of RFC 6455, section 1.3.
    fn upgrade() -> Upgrade {
        Upgrade::new(*b"the sample nonce")
    }
    const ACCEPTS: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

    #[test]
    fn the_request_and_the_reply_of_the_standard() {
        let text = upgrade().request(b"GET /chat HTTP/1.1\r\nHost: h\r\n\r\n");
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"));
        assert!(text.ends_with("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
        let reply = [ACCEPTS.as_bytes(), b"\r\n\x81\x01x"].concat();
        for step in 1..=reply.len() {
            let (mut upgrade, mut rest) = (upgrade(), None);
            for piece in reply.chunks(step) {
                match &mut rest {
                    None => rest = upgrade.feed(piece).unwrap(),
                    Some(rest) => rest.extend_from_slice(piece),
                }
            }
            assert_eq!(rest.as_deref(), Some(&b"\x81\x01x"[..]), "{step}");
        }
    }

    #[test]
    fn one_of_the_subprotocols_that_the_request_names_can_be_chosen() {
        let head = "GET / HTTP/1.1\r\nHost: h\r\nSec-WebSocket-Protocol: mqtt, graphql-ws\r\nsec-websocket-protocol: stomp\r\n\r\n";
        for (chosen, is_accepted) in [
            ("graphql-ws", true),
            ("mqtt", true),
            ("stomp", true),
            ("MQTT", false),
            ("ocpp", false),
            ("mqtt, stomp", false),
            ("", false),
        ] {
            let mut upgrade = upgrade();
            upgrade.request(head.as_bytes());
            let reply = format!("{ACCEPTS}Sec-WebSocket-Protocol: {chosen}\r\n\r\n");
            let result = upgrade.feed(reply.as_bytes());
            assert_eq!(result.is_ok(), is_accepted, "{chosen}");
        }
    }

    #[test]
    fn a_refusal_names_what_the_server_chose() {
        let plain = ACCEPTS.replace("WebSocket", "h2c") + "\r\n";
        let none = ACCEPTS.replace("Upgrade: WebSocket\r\n", "") + "\r\n";
        let [mqtt, extension] = ["Protocol: mqtt", "Extensions: permessage-deflate; x"]
            .map(|field| format!("{ACCEPTS}Sec-WebSocket-{field}\r\n\r\n"));
        for (reply, named) in [
            (&plain, "(Upgrade: `h2c`; Connection: `keep-alive`, `Upgrade`)"),
            (&none, "(Upgrade: none; Connection: `keep-alive`, `Upgrade`)"),
            (&mqtt, "it chooses the subprotocol `mqtt`; offered: `stomp`"),
            (&extension, "it chooses the extension `permessage-deflate; x`"),
        ] {
            let mut upgrade = upgrade();
            upgrade.request(b"GET / HTTP/1.1\r\nHost: h\r\nSec-WebSocket-Protocol: stomp\r\n\r\n");
            let text = upgrade.feed(reply.as_bytes()).unwrap_err().text;
            assert!(text.contains(named), "{text}");
        }
    }

    #[test]
    fn replies_that_do_not_accept() {
        let bomb = format!("HTTP/1.1 101 x\r\nA: {}", "x".repeat(MAX_HEAD_BYTES));
        let wrong = ACCEPTS.replace("s3pP", "S3pP") + "\r\n";
        let extension = format!("{ACCEPTS}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
        let twice = format!("{ACCEPTS}Sec-WebSocket-Accept: x\r\n\r\n");
        let chosen = format!("{ACCEPTS}Sec-WebSocket-Protocol: stomp\r\n\r\n");
        let plain = ACCEPTS.replace("Upgrade\r\nSec", "close\r\nSec") + "\r\n";
        for (reply, kind) in [
            ("HTTP/1.1 404 Not Found\r\n\r\n", ErrorKind::Upgrade),
            ("HTTP/1.0 101 x", ErrorKind::Protocol),
            ("\x16\x03\x03", ErrorKind::Protocol),
            ("HTTP/1.1 101 x\r\nA\r\n\r\n", ErrorKind::Protocol),
            (&bomb, ErrorKind::TooLarge),
            (&wrong, ErrorKind::Upgrade),
            (&extension, ErrorKind::Upgrade),
            (&chosen, ErrorKind::Upgrade),
            (&twice, ErrorKind::Upgrade),
            (&plain, ErrorKind::Upgrade),
        ] {
            let error = upgrade().feed(reply.as_bytes()).unwrap_err();
            assert_eq!(error.kind, kind, "{reply}");
        }
    }

    #[test]
    fn base64_of_the_standard() {
        for (text, right) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), right);
        }
    }
}
