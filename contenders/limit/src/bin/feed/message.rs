//! The bytes of a message, which are a function of its number and the feed's id: none are kept.

use std::io::Write;

pub const MOST_DIGITS: usize = 20;

/// 1 to 20 digits as the client wrote them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Id {
    digits: [u8; MOST_DIGITS],
    length: u8,
}

impl Id {
    pub fn parse(text: &str) -> Option<Self> {
        let good = (1..=MOST_DIGITS).contains(&text.len());
        if !good || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut digits = [0; MOST_DIGITS];
        digits[..text.len()].copy_from_slice(text.as_bytes());
        Some(Id {
            digits,
            length: text.len() as u8,
        })
    }

    fn digits(&self) -> &[u8] {
        &self.digits[..usize::from(self.length)]
    }
}

/// Number 0 is the welcome, with the answer's head before it; the others are chunks.
pub fn write(number: u32, id: &Id, out: &mut Vec<u8>) {
    out.clear();
    let mut body = [0; 64];
    let mut rest = &mut body[..];
    // 64 bytes are enough for both forms.
    let _ = match number {
        0 => {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n");
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            rest.write_all(b"Welcome: ")
        }
        _ => write!(rest, "Chunk {number} for "),
    };
    let _ = rest
        .write_all(id.digits())
        .and_then(|()| rest.write_all(b"\n"));
    let left = rest.len();
    let body = &body[..64 - left];
    // Writing into memory does not fail.
    let _ = write!(out, "{:x}\r\n", body.len());
    out.extend_from_slice(body);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        for good in ["0", "007", "18446744073709551616", "99999999999999999999"] {
            assert_eq!(Id::parse(good).unwrap().digits(), good.as_bytes());
        }
        for bad in [
            "",
            "a",
            "1a",
            "-1",
            "+1",
            " 1",
            "100000000000000000000",
            "\u{0663}",
        ] {
            assert_eq!(Id::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn messages() {
        let id = Id::parse("12345678901234567890").unwrap();
        let mut out = Vec::new();
        write(0, &id, &mut out);
        let text = String::from_utf8(out.clone()).unwrap();
        assert!(
            text.ends_with("\r\n\r\n1e\r\nWelcome: 12345678901234567890\n\r\n"),
            "{text}"
        );
        write(u32::MAX, &id, &mut out);
        assert_eq!(
            out,
            b"2a\r\nChunk 4294967295 for 12345678901234567890\n\r\n"
        );
        write(1, &Id::parse("7").unwrap(), &mut out);
        assert_eq!(out, b"e\r\nChunk 1 for 7\n\r\n");
    }
}
