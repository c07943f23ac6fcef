//! An upstream's answer, read as far as it must be: its status, and where it ends.

const LONGEST_HEAD: usize = 64 * 1024;
const HEADERS: usize = 100;

#[derive(Debug, PartialEq)]
pub enum Progress {
    More,
    /// All has come; whether the connection may be used again.
    Whole {
        status: u16,
        keep: bool,
    },
    Broken,
}

#[derive(Default)]
pub struct Reply {
    /// As much of the head as has come, while it is not whole.
    head: Vec<u8>,
    status: u16,
    keep: bool,
    body: Option<Body>,
    begun: bool,
}

enum Body {
    Length(u64),
    Chunks(Chunks),
    UntilClosed,
}

impl Reply {
    /// Whether anything has come.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    pub fn clear(&mut self) {
        self.head.clear();
        self.body = None;
        self.begun = false;
    }

    pub fn take(&mut self, bytes: &[u8]) -> Progress {
        self.begun = true;
        if self.body.is_some() {
            return self.take_body(bytes);
        }
        if self.head.is_empty() {
            return self.take_head(bytes);
        }
        let mut head = std::mem::take(&mut self.head);
        head.extend_from_slice(bytes);
        self.take_head(&head)
    }

    /// The connection has ended.
    pub fn end(&self) -> Progress {
        match self.body {
            Some(Body::UntilClosed) => Progress::Whole {
                status: self.status,
                keep: false,
            },
            _ => Progress::Broken,
        }
    }

    fn take_head(&mut self, bytes: &[u8]) -> Progress {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => {
                self.head.extend_from_slice(bytes);
                return Progress::More;
            }
            _ => return Progress::Broken,
        };
        self.status = head.code.unwrap_or(0);
        self.keep = head.version == Some(1);
        let mut body = Body::UntilClosed;
        for header in head.headers.iter() {
            let (name, value) = (header.name, header.value);
            if name.eq_ignore_ascii_case("Content-Length") {
                let text = std::str::from_utf8(value).unwrap_or("");
                match (text.parse(), &body) {
                    (Err(_), _) => return Progress::Broken,
                    (_, Body::Chunks(_)) => {}
                    (Ok(length), _) => body = Body::Length(length),
                }
            } else if name.eq_ignore_ascii_case("Transfer-Encoding") {
                if value.eq_ignore_ascii_case(b"chunked") {
                    body = Body::Chunks(Chunks::default());
                }
            } else if name.eq_ignore_ascii_case("Connection") {
                self.keep &= !value.eq_ignore_ascii_case(b"close");
            }
        }
        let rest = &bytes[length..];
        match self.status {
            // An announcement: the answer follows.
            100..=199 if rest.is_empty() => return Progress::More,
            100..=199 => return self.take_head(rest),
            204 | 304 => body = Body::Length(0),
            200..=999 => {}
            _ => return Progress::Broken,
        }
        self.body = Some(body);
        self.take_body(rest)
    }

    fn take_body(&mut self, bytes: &[u8]) -> Progress {
        let used = match &mut self.body {
            Some(Body::Length(left)) => {
                let used = (bytes.len() as u64).min(*left);
                *left -= used;
                (*left == 0).then_some(used as usize)
            }
            Some(Body::Chunks(chunks)) => match chunks.take(bytes) {
                Ok(used) => used,
                Err(()) => return Progress::Broken,
            },
            _ => None,
        };
        match used {
            None => Progress::More,
            // Unrequested bytes: the connection cannot be trusted.
            Some(used) => Progress::Whole {
                status: self.status,
                keep: self.keep && used == bytes.len(),
            },
        }
    }
}

/// Finds the end of a chunked body.
enum Chunks {
    /// A size's digits so far.
    Size(u64, usize),
    /// The text that may follow a size, up to the end of its line.
    Extension(u64),
    Data(u64),
    DataEnd,
    /// A line of the trailer, and whether it is blank so far.
    Trailer(bool),
}

impl Default for Chunks {
    fn default() -> Self {
        Chunks::Size(0, 0)
    }
}

impl Chunks {
    /// How many bytes belong to the body, where it ends in these.
    fn take(&mut self, bytes: &[u8]) -> Result<Option<usize>, ()> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            *self = match *self {
                Chunks::Size(size, digits) => match (char::from(byte).to_digit(16), byte) {
                    (Some(_), _) if digits == 16 => return Err(()),
                    (Some(digit), _) => Chunks::Size(size << 4 | u64::from(digit), digits + 1),
                    (None, b'\r' | b';' | b' ') if digits > 0 => Chunks::Extension(size),
                    _ => return Err(()),
                },
                Chunks::Extension(0) if byte == b'\n' => Chunks::Trailer(true),
                Chunks::Extension(size) if byte == b'\n' => Chunks::Data(size),
                Chunks::Extension(size) => Chunks::Extension(size),
                Chunks::Data(left) => {
                    // This byte and as many after it as there are.
                    let used = left.min((bytes.len() - at) as u64 + 1);
                    at += used as usize - 1;
                    match left - used {
                        0 => Chunks::DataEnd,
                        left => Chunks::Data(left),
                    }
                }
                Chunks::DataEnd => match byte {
                    b'\r' => Chunks::DataEnd,
                    b'\n' => Chunks::Size(0, 0),
                    _ => return Err(()),
                },
                Chunks::Trailer(true) if byte == b'\n' => return Ok(Some(at)),
                Chunks::Trailer(blank) => Chunks::Trailer(byte == b'\n' || blank && byte == b'\r'),
            };
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reply made of a text that comes in pieces of so many bytes.
    fn read(text: &str, piece: usize) -> Progress {
        let mut reply = Reply::default();
        for piece in text.as_bytes().chunks(piece) {
            match reply.take(piece) {
                Progress::More => {}
                end => return end,
            }
        }
        Progress::More
    }

    #[test]
    fn answers_end_where_they_say_however_they_are_cut() {
        let chunks = "Transfer-Encoding: chunked\r\n\r\n";
        for (text, status, keep) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, true),
            ("HTTP/1.1 503 No\r\ncontent-length:0\r\n\r\n", 503, true),
            ("HTTP/1.1 204 OK\r\n\r\n", 204, true),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, false),
            ("HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", 200, false),
            ("HTTP/1.1 103 Soon\r\nA: b\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx", 404, true),
            (&format!("HTTP/1.1 200 OK\r\n{chunks}0\r\n\r\n"), 200, true),
            (&format!("HTTP/1.1 203 OK\r\n{chunks}5\r\nhello\r\n0C;a=b\r\n0\r\n\r\n0\r\n\r\n..\r\n0\r\nA: b\r\n\r\n"), 203, true),
        ] {
            for piece in [1, 2, 3, 5, 17, 1000] {
                let expected = Progress::Whole { status, keep };
                assert_eq!(read(text, piece), expected, "{text:?} by {piece}");
            }
            for length in 0..text.len() {
                assert_eq!(read(&text[..length], 7), Progress::More, "{text:?} to {length}");
            }
        }
    }

    #[test]
    fn an_answer_that_goes_too_far_is_not_kept() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok?";
        let expected = Progress::Whole {
            status: 200,
            keep: false,
        };
        assert_eq!(read(text, 1000), expected);
    }

    #[test]
    fn what_is_no_answer_is_broken() {
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for text in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n",
            &format!("{chunks}\r\n"),
            &format!("{chunks}-1\r\n"),
            &format!("{chunks}2\r\nabc"),
            &format!("{chunks}11111111111111111\r\n"),
        ] {
            assert_eq!(read(text, 1000), Progress::Broken, "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_connection_ends_some_bodies_only() {
        let mut reply = Reply::default();
        assert_eq!(reply.end(), Progress::Broken);
        assert_eq!(reply.take(b"HTTP/1.1 200 OK\r\n\r\nfine"), Progress::More);
        let expected = Progress::Whole {
            status: 200,
            keep: false,
        };
        assert_eq!(reply.end(), expected);
        reply.clear();
        assert!(!reply.has_begun());
        reply.take(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfine");
        assert_eq!((reply.end(), reply.has_begun()), (Progress::Broken, true));
    }
}
