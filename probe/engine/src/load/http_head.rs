//! Parses the head of an HTTP/1.1 response.

use super::chunked::ChunkedDecoder;
use super::error::ErrorKind;
use super::http::Body;
use std::mem::MaybeUninit;

pub const MAX_HEAD_BYTES: usize = 256 * 1024;
pub const MAX_FIELDS: usize = 1000;

pub struct Head {
    pub status: u16,
    pub keep_alive: bool,
    pub body: Body,
}

/// The head that bytes begin with, and its length; None if it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, ErrorKind> {
    let mut fields = [MaybeUninit::uninit(); MAX_FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut fields,
    );
    let used = match parsed {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ErrorKind::TooLarge),
        Err(_) => return Err(ErrorKind::Protocol),
    };
    let status = response.code.filter(|&code| (100..=999).contains(&code));
    let status = status.ok_or(ErrorKind::Protocol)?;
    let mut keep_alive = response.version == Some(1);
    let mut length = None;
    let mut coding: Option<bool> = None;
    for field in response.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            let value = number(field.value).ok_or(ErrorKind::Protocol)?;
            if length.is_some_and(|length| length != value) {
                return Err(ErrorKind::Protocol);
            }
            length = Some(value);
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            let value = trimmed(field.value);
            if value.eq_ignore_ascii_case(b"identity") {
                // No coding at all (RFC 2616, section 3.6), which some servers still say.
                continue;
            }
            let chunked = value.eq_ignore_ascii_case(b"chunked");
            // The request accepts no other coding, and chunked may occur once only.
            coding = Some(chunked && coding.is_none());
        } else if field.name.eq_ignore_ascii_case("connection") {
            for option in field.value.split(|&byte| byte == b',') {
                let option = trimmed(option);
                keep_alive &= !option.eq_ignore_ascii_case(b"close");
            }
        }
    }
    let body = match (coding, length) {
        (None, Some(length)) => Body::Length(length),
        (None, None) => Body::Open,
        (Some(true), None) => Body::Chunked(ChunkedDecoder::default()),
        _ => return Err(ErrorKind::Protocol),
    };
    let head = Head { status, keep_alive, body };
    Ok(Some((head, used)))
}

/// The status of a complete head.
pub fn parse_status(head: &[u8]) -> Option<u16> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    response.parse(head).ok()?;
    response.code
}

/// A number in decimal digits only.
fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(trimmed(text)).ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// `<[u8]>::trim_ascii` of Rust 1.80.
pub fn trimmed(text: &[u8]) -> &[u8] {
    let kept = |byte: &u8| !byte.is_ascii_whitespace();
    let start = text.iter().position(kept).unwrap_or(text.len());
    let end = text.iter().rposition(kept).map_or(start, |last| last + 1);
    &text[start..end]
}
