//! Parses HTTP/1.1 responses: the head, then a body by its framing.

use super::chunked::{ChunkedDecoder, Piece};
use super::error::ErrorKind;
use super::http_head::{parse, Body, Head, MAX_HEAD_BYTES};

/// Interim responses before a final one.
const MAX_INTERIM: u8 = 16;

#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(ChunkedDecoder),
    /// Until the connection ends.
    Open,
}

/// Parses one response.
#[derive(Debug)]
pub struct ResponseParser {
    state: State,
    /// The bytes of an incomplete head.
    held: Vec<u8>,
    interim: u8,
    no_body: bool,
    status: u16,
    keep_alive: bool,
    keeps_location: bool,
    location: Option<Box<[u8]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub status: u16,
    pub keep_alive: bool,
}

/// The state of a response after some bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Read<'a> {
    More,
    /// The response is complete; these bytes came after it.
    Done(Done, &'a [u8]),
}

impl ResponseParser {
    /// `no_body`: the response to a HEAD request.
    pub fn new(no_body: bool) -> ResponseParser {
        ResponseParser {
            state: State::Head,
            held: Vec::new(),
            interim: 0,
            no_body,
            status: 0,
            keep_alive: true,
            keeps_location: false,
            location: None,
        }
    }

    /// The same, which keeps the header `Location` or not.
    pub fn keeping_location(self, keeps_location: bool) -> ResponseParser {
        ResponseParser {
            keeps_location,
            ..self
        }
    }

    /// The value of the first header `Location`, where it is kept.
    pub fn take_location(&mut self) -> Option<Vec<u8>> {
        self.location.take().map(Vec::from)
    }

    /// Whether a byte of the response has arrived.
    pub fn has_begun(&self) -> bool {
        !self.held.is_empty() || !matches!(self.state, State::Head)
    }

    /// The status, once the head is complete.
    pub fn status(&self) -> Option<u16> {
        match self.state {
            State::Head => None,
            _ => Some(self.status),
        }
    }

    /// Parses bytes; pieces of the body go to the sink.
    pub fn feed<'a>(
        &mut self,
        mut bytes: &'a [u8],
        sink: &mut impl FnMut(Piece<'a>),
    ) -> Result<Read<'a>, ErrorKind> {
        while let State::Head = self.state {
            match self.head(bytes)? {
                None => return Ok(Read::More),
                Some(used) => bytes = &bytes[used..],
            }
        }
        match &mut self.state {
            State::Head => Ok(Read::More),
            State::Open => {
                sink(Piece { bytes, last: false });
                Ok(Read::More)
            }
            State::Length(left) => {
                let count = bytes
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                let (body, rest) = bytes.split_at(count);
                *left -= count as u64;
                let last = *left == 0;
                if count > 0 {
                    sink(Piece { bytes: body, last });
                }
                Ok(self.read(last.then_some(rest)))
            }
            State::Chunked(chunked) => {
                let rest = chunked.feed(bytes, sink)?;
                Ok(self.read(rest))
            }
        }
    }

    fn read<'a>(&self, rest: Option<&'a [u8]>) -> Read<'a> {
        let done = Done {
            status: self.status,
            keep_alive: self.keep_alive,
        };
        rest.map_or(Read::More, |rest| Read::Done(done, rest))
    }

    /// The response that the end of the connection completes, if it does.
    pub fn at_eof(&self) -> Option<Done> {
        matches!(self.state, State::Open).then(|| Done {
            status: self.status,
            keep_alive: false,
        })
    }

    /// Parses a head. Returns how many of the bytes belong to it; None when it is incomplete.
    fn head(&mut self, bytes: &[u8]) -> Result<Option<usize>, ErrorKind> {
        if self.held.is_empty() {
            // By the first byte, so that pieces do not matter. Empty lines may come before a response.
            match bytes.first() {
                Some(0x15 | 0x16) => return Err(ErrorKind::Tls),
                Some(0x00) => return Err(ErrorKind::Http2),
                Some(b'H' | b'\r' | b'\n') | None => {}
                Some(_) => return Err(ErrorKind::Protocol),
            }
            if let Ok(Some((parsed, used))) = parse(bytes, self.keeps_location) {
                self.accept(parsed)?;
                return Ok(Some(used));
            }
        }
        let before = self.held.len();
        let bytes = &bytes[..bytes.len().min(MAX_HEAD_BYTES + 1)];
        self.held.extend_from_slice(bytes);
        // Whole lines only: a head that comes byte by byte is not parsed again for each byte, and what comes
        // of it does not depend on where it was cut.
        let Some(newline) = memchr::memrchr(b'\n', bytes) else {
            return incomplete(&self.held);
        };
        let (parsed, used) = match parse(&self.held[..=before + newline], self.keeps_location)? {
            Some(head) => head,
            None => return incomplete(&self.held),
        };
        self.held = Vec::new();
        self.accept(parsed)?;
        Ok(Some(used - before))
    }

    fn accept(&mut self, head: Head) -> Result<(), ErrorKind> {
        if head.status == 101 {
            return Err(ErrorKind::Protocol);
        }
        if head.status < 200 {
            self.interim += 1;
            return match self.interim > MAX_INTERIM {
                true => Err(ErrorKind::Protocol),
                false => Ok(()),
            };
        }
        self.status = head.status;
        self.location = head.location;
        self.keep_alive = head.keep_alive;
        self.state = match head.body {
            _ if self.no_body || head.status == 204 || head.status == 304 => State::Length(0),
            Body::Length(length) => State::Length(length),
            Body::Chunked => State::Chunked(ChunkedDecoder::default()),
            Body::Open => {
                self.keep_alive = false;
                State::Open
            }
        };
        Ok(())
    }
}

fn incomplete(held: &[u8]) -> Result<Option<usize>, ErrorKind> {
    match held.len() > MAX_HEAD_BYTES {
        true => Err(ErrorKind::TooLarge),
        false => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, keep-alive, body and the number of bytes after it, fed in pieces of `step` bytes; Truncated where the
    /// response is incomplete. `ends`: the connection ends after the text.
    fn read(
        text: &[u8],
        step: usize,
        ends: bool,
    ) -> Result<(u16, bool, Vec<u8>, usize), ErrorKind> {
        let mut response = ResponseParser::new(false);
        let mut body = Vec::new();
        let mut done = 0;
        for piece in text.chunks(step) {
            done += piece.len();
            let read = response.feed(piece, &mut |piece| body.extend_from_slice(piece.bytes))?;
            if let Read::Done(end, rest) = read {
                let left = rest.len() + text.len() - done;
                return Ok((end.status, end.keep_alive, body, left));
            }
        }
        match response.at_eof().filter(|_| ends) {
            Some(end) => Ok((end.status, end.keep_alive, body, 0)),
            None => Err(ErrorKind::Truncated),
        }
    }

    #[test]
    fn reads_bodies_in_any_pieces() {
        // Text, whether the connection ends then; status, keep-alive, body, bytes after it.
        type Case = (&'static [u8], bool, u16, bool, &'static [u8], usize);
        let cases: [Case; 9] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHT", false, 200, true, b"ok", 2),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, 200, true, b"", 0),
            (b"HTTP/1.1 404 No\r\nConnection: a, Close\r\ncontent-length:1\r\n\r\nx", false, 404, false, b"x", 0),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false, 200, true, b"ok", 0),
            (b"HTTP/1.1 204 No\r\n\r\nHTTP", false, 204, true, b"", 4),
            (b"HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", false, 304, true, b"", 0),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false, 200, true, b"x", 0),
            (b"HTTP/1.0 200 OK\r\n\r\nall of it", true, 200, false, b"all of it", 0),
            (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", false, 200, true, b"x", 0),
        ];
        for (text, ends, status, keep_alive, body, left) in cases {
            for step in 1..=text.len() {
                let right = (status, keep_alive, body.to_vec(), left);
                let shown = String::from_utf8_lossy(text);
                assert_eq!(read(text, step, ends), Ok(right), "{step}: {shown}");
            }
        }
    }

    #[test]
    fn refuses_ambiguous_responses() {
        let bad: [&[u8]; 12] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            b"HTTP/2 200 OK\r\n\r\n",
            b"garbage\r\n\r\n",
            b"HTTP/1.1 200 OK\nContent-Lengt\0\0'\n",
        ];
        for text in bad {
            for step in 1..=text.len() {
                assert_eq!(
                    read(text, step, true),
                    Err(ErrorKind::Protocol),
                    "{}",
                    String::from_utf8_lossy(text)
                );
            }
        }
        // Only whole lines count: what comes of a wrong one does not depend on where it was cut.
        let cut = b"HTTP/1.1 200 OK\nContent-Lengt\0\0'";
        for step in 1..=cut.len() {
            assert_eq!(read(cut, step, true), Err(ErrorKind::Truncated));
        }
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(17);
        assert_eq!(read(&interim, 40, false), Err(ErrorKind::Protocol));
        let mut bomb = b"HTTP/1.1 200 OK\r\nA: ".to_vec();
        bomb.resize(100_000, b'x');
        for step in [1, 1000, 100_000] {
            assert_eq!(read(&bomb, step, false), Err(ErrorKind::TooLarge));
        }
        let many = [b"HTTP/1.1 200 OK\r\n".to_vec(), b"A: b\r\n".repeat(101)].concat();
        assert_eq!(read(&many, many.len(), false), Err(ErrorKind::TooLarge));
        let short = b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nabc";
        assert_eq!(read(short, 7, true), Err(ErrorKind::Truncated));
    }

    #[test]
    fn the_state_of_a_response() {
        let mut response = ResponseParser::new(false);
        let mut ignore = |_: Piece| {};
        assert!(!response.has_begun() && response.at_eof().is_none());
        assert_eq!(response.feed(b"HTTP/1.1", &mut ignore), Ok(Read::More));
        assert!(response.has_begun());
        assert_eq!(response.status(), None);
        let rest = b" 201 Made\r\n\r\nbody";
        assert_eq!(response.feed(rest, &mut ignore), Ok(Read::More));
        assert_eq!(response.status(), Some(201));
        assert!(response.has_begun());
        let done = Done {
            status: 201,
            keep_alive: false,
        };
        assert_eq!(response.at_eof(), Some(done));
    }

    #[test]
    fn the_response_to_head_has_no_body() {
        let mut response = ResponseParser::new(true);
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        let done = Done {
            status: 200,
            keep_alive: true,
        };
        let read = response.feed(text, &mut |_| panic!("a body"));
        assert_eq!(read, Ok(Read::Done(done, b"")));
    }

    #[test]
    fn the_location_is_kept_where_it_is_asked_for() {
        let text = b"HTTP/1.1 302 F\r\nlocation: /x \r\nLocation: /y\r\nContent-Length: 0\r\n\r\n";
        for step in [1, 100] {
            let mut plain = ResponseParser::new(false);
            let mut keeping = ResponseParser::new(false).keeping_location(true);
            for piece in text.chunks(step) {
                plain.feed(piece, &mut |_| {}).unwrap();
                keeping.feed(piece, &mut |_| {}).unwrap();
            }
            assert_eq!(plain.take_location(), None);
            assert_eq!(keeping.take_location().as_deref(), Some(&b"/x"[..]));
        }
    }

    #[test]
    fn ends_of_pieces() {
        let mut ends = Vec::new();
        let mut response = ResponseParser::new(false);
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        response.feed(head, &mut |_| panic!("a body")).unwrap();
        for bytes in [&b"a"[..], b"bc"] {
            let mut sink = |piece: Piece| ends.push((piece.bytes.len(), piece.last));
            response.feed(bytes, &mut sink).unwrap();
        }
        assert_eq!(ends, [(1, false), (2, true)]);
    }

    #[test]
    fn other_protocols_are_recognised() {
        for (first, kind) in [
            (0x15, ErrorKind::Tls),
            (0x16, ErrorKind::Tls),
            (0x00, ErrorKind::Http2),
            (0x17, ErrorKind::Protocol),
        ] {
            let text = [first, 3, 1, b'\r', b'\n'];
            for step in [1, 5] {
                assert_eq!(read(&text, step, true), Err(kind), "{first}");
            }
        }
    }

    #[test]
    fn limits_of_a_head() {
        assert_eq!(MAX_HEAD_BYTES, 16_384);
        let head = |bytes: usize| {
            let start = b"HTTP/1.1 204 No\r\nA: ";
            let filler = vec![b'x'; bytes - start.len() - 4];
            [&start[..], &filler, b"\r\n\r\n"].concat()
        };
        for step in [1000, MAX_HEAD_BYTES + 1] {
            let longest = head(MAX_HEAD_BYTES);
            assert_eq!(read(&longest, step, false), Ok((204, true, vec![], 0)));
            let longer = head(MAX_HEAD_BYTES + 1);
            assert_eq!(read(&longer, step, false), Err(ErrorKind::TooLarge));
            // Its first bytes are cut off, not too large.
            let cut_off = &longer[..MAX_HEAD_BYTES];
            assert_eq!(read(cut_off, step, false), Err(ErrorKind::Truncated));
        }
        let fields = |count| {
            [
                &b"HTTP/1.1 204 No\r\n"[..],
                &b"A: b\r\n".repeat(count),
                b"\r\n",
            ]
            .concat()
        };
        assert!(read(&fields(100), 10_000, false).is_ok());
        let interim = |count| [&b"HTTP/1.1 100 C\r\n\r\n".repeat(count), &fields(0)[..]].concat();
        assert!(read(&interim(16), 40, false).is_ok());
        assert_eq!(read(&interim(17), 40, false), Err(ErrorKind::Protocol));
    }

    #[test]
    fn options_of_a_connection() {
        for (version, option, keep_alive) in [
            ("1.1", "keep-alive", true),
            ("1.1", "x", true),
            ("1.1", " CLOSE ", false),
            ("1.0", "x", false),
            ("1.0", "x, Keep-Alive", true),
            ("1.1", "close, keep-alive", false),
        ] {
            let text = format!("HTTP/{version} 204 No\r\nConnection: {option}\r\n\r\n");
            let right = Ok((204, keep_alive, vec![], 0));
            assert_eq!(read(text.as_bytes(), 100, false), right, "{text}");
        }
        for status in ["099", "100"] {
            let text = format!("HTTP/1.1 {status} C\r\n\r\n");
            let wrong = match status {
                "100" => ErrorKind::Truncated,
                _ => ErrorKind::Protocol,
            };
            assert_eq!(read(text.as_bytes(), 100, false), Err(wrong));
        }
    }
}
