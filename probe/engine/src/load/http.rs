//! Parses HTTP/1.1 responses: the head, then a body by its framing.

use super::chunked::{ChunkedDecoder, Rest};
use super::error::ErrorKind;
use super::http_head::{parse, Head};

/// Interim responses before a final one.
const MAX_INTERIM: u8 = 16;

/// How much of a body is to come.
#[derive(Debug)]
pub enum Body {
    Length(u64),
    Chunked(ChunkedDecoder),
    /// Until the connection ends.
    Open,
    /// Until the layer that decodes the response says so.
    Layered,
}

#[derive(Debug)]
pub struct ResponseParser {
    /// Once the head is complete.
    body: Option<Body>,
    /// The bytes of an incomplete head.
    held: Vec<u8>,
    /// The start of its incomplete line, and whether an earlier line was not empty.
    line_start: u32,
    has_line: bool,
    interim: u8,
    no_body: bool,
    status: u16,
    /// Once the response is complete: whether the connection can be used again.
    pub keep_alive: bool,
    max_head_bytes: u32,
}

/// How much of a response has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadProgress {
    /// How many responses have begun: interim ones, and the final one.
    pub begun: u8,
    /// The final one has.
    pub is_final: bool,
}

impl ResponseParser {
    /// `no_body`: the response to a HEAD request. `max_head_bytes`: the limit of a head.
    pub fn new(no_body: bool, max_head_bytes: u32) -> ResponseParser {
        ResponseParser {
            body: None,
            held: Vec::new(),
            line_start: 0,
            has_line: false,
            interim: 0,
            no_body,
            status: 0,
            keep_alive: true,
            max_head_bytes,
        }
    }

    /// Starts over with the next response.
    pub fn reset(&mut self) {
        self.body = None;
        self.interim = 0;
        self.drop_head();
    }

    /// A layer has decoded a head with this status.
    pub fn begin(&mut self, status: u16) {
        (self.body, self.status) = (Some(Body::Layered), status);
    }

    /// The first line of a head that could not be read, after `feed` has failed with these bytes; empty if each is a
    /// line of a response.
    pub fn refused_line<'a>(&'a self, bytes: &'a [u8]) -> &'a [u8] {
        let head = if self.held.is_empty() { bytes } else { &self.held };
        let lines = head.split(|&byte| byte == b'\n');
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut lines = lines.skip_while(|line| line.is_empty());
        let status = lines.next().unwrap_or_default();
        if !is_status_line(status) {
            return status;
        }
        let mut fields = lines.take_while(|line| !line.is_empty());
        fields.find(|line| !is_field(line)).unwrap_or_default()
    }

    /// Whether a byte of the response has arrived.
    pub fn has_begun(&self) -> bool {
        !self.held.is_empty() || self.body.is_some()
    }

    pub fn beginning(&self) -> HeadProgress {
        HeadProgress { begun: self.interim + u8::from(self.has_begun()), is_final: self.body.is_some() }
    }

    /// The status, once the head is complete.
    pub fn status(&self) -> Option<u16> {
        self.body.as_ref().map(|_| self.status)
    }

    /// Parses bytes; pieces of the body go to the sink, and whether a chunk, or the body, ends with them. Returns the bytes
    /// after the response once it is complete.
    pub fn feed<'a>(&mut self, mut bytes: &'a [u8], sink: &mut impl FnMut(&'a [u8], bool)) -> Rest<'a> {
        while self.body.is_none() {
            match self.head(bytes)? {
                None => return Ok(None),
                Some(used) => bytes = &bytes[used..],
            }
        }
        match &mut self.body {
            None | Some(Body::Layered) => Ok(None),
            Some(Body::Open) => {
                sink(bytes, false);
                Ok(None)
            }
            Some(Body::Length(left)) => {
                let count = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                let (body, rest) = bytes.split_at(count);
                *left -= count as u64;
                let last = *left == 0;
                if count > 0 {
                    sink(body, last);
                }
                Ok(last.then_some(rest))
            }
            Some(Body::Chunked(chunked)) => chunked.feed(bytes, sink),
        }
    }

    /// Whether the end of the connection completes the response.
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.body, Some(Body::Open))
    }

    /// Parses a head. Returns how many of the bytes belong to it; None when it is incomplete.
    fn head(&mut self, bytes: &[u8]) -> Result<Option<usize>, ErrorKind> {
        // By the first byte, so that pieces do not matter. Empty lines may come before a response.
        let first = self.held.first().or(bytes.first());
        let is_other = !matches!(first, Some(b'H' | b'\r' | b'\n') | None);
        if self.held.is_empty() && !is_other {
            if let Ok(Some((parsed, used))) = parse(bytes) {
                self.accept(parsed, used)?;
                return Ok(Some(used));
            }
        }
        let before = self.held.len();
        let bytes = &bytes[..bytes.len().min(self.max_head_bytes as usize + 1)];
        self.held.extend_from_slice(bytes);
        if is_other {
            return other_protocol(&self.held).map(|()| None);
        }
        // A head in pieces is parsed once, when it is complete: the result does not depend on where it was cut.
        for newline in memchr::memchr_iter(b'\n', bytes) {
            let end = before + newline + 1;
            let start = std::mem::replace(&mut self.line_start, end as u32) as usize;
            let is_empty = matches!(&self.held[start..end], b"\n" | b"\r\n");
            // Empty lines may come before a response.
            if !is_empty || !self.has_line {
                self.has_line |= !is_empty;
                continue;
            }
            let head = parse(&self.held[..end])?;
            let (parsed, used) = head.ok_or(ErrorKind::Protocol)?;
            self.drop_head();
            self.accept(parsed, used)?;
            return Ok(Some(used - before));
        }
        match self.held.len() > self.max_head_bytes as usize {
            true => Err(ErrorKind::TooLarge),
            false => Ok(None),
        }
    }

    fn drop_head(&mut self) {
        self.held.clear();
        (self.line_start, self.has_line) = (0, false);
    }

    /// A head of this length has come.
    fn accept(&mut self, head: Head, bytes: usize) -> Result<(), ErrorKind> {
        if bytes > self.max_head_bytes as usize {
            return Err(ErrorKind::TooLarge);
        }
        if head.status == 101 {
            return Err(ErrorKind::Protocol);
        }
        if head.status < 200 {
            self.interim += 1;
            return (self.interim <= MAX_INTERIM).then_some(()).ok_or(ErrorKind::Protocol);
        }
        let has_none = self.no_body || head.status == 204 || head.status == 304;
        let body = if has_none { Body::Length(0) } else { head.body };
        self.status = head.status;
        self.keep_alive = head.keep_alive && !matches!(body, Body::Open);
        self.body = Some(body);
        Ok(())
    }
}

const ANY: u16 = 256;
/// The first bytes of servers of other protocols: a record of TLS, an alert or a handshake; the settings of
/// HTTP/2.
const OTHERS: [(&[u16], ErrorKind); 3] = [
    (&[0x15, 3], ErrorKind::Tls),
    (&[0x16, 3], ErrorKind::Tls),
    (&[0, 0, ANY, 4, 0, 0, 0, 0, 0], ErrorKind::Http2),
];

/// The error of bytes that begin no response; none while more bytes have to tell which.
fn other_protocol(held: &[u8]) -> Result<(), ErrorKind> {
    let fits = |begin: &[u16]| {
        let mut pairs = begin.iter().zip(held);
        pairs.all(|(&own, &byte)| own == ANY || own == u16::from(byte))
    };
    match OTHERS.iter().find(|(begin, _)| fits(begin)) {
        Some((begin, _)) if held.len() < begin.len() => Ok(()),
        Some((_, kind)) => Err(*kind),
        None => Err(ErrorKind::Protocol),
    }
}

fn is_status_line(line: &[u8]) -> bool {
    httparse::Response::new(&mut []).parse(line).is_ok()
}

fn is_field(line: &[u8]) -> bool {
    let mut field = [httparse::EMPTY_HEADER; 1];
    httparse::parse_headers(&[line, b"\r\n"].concat(), &mut field).is_ok()
}

#[cfg(test)]
mod tests;
