//! Decodes the chunked coding (RFC 9112, 7.1), strictly: httparse's own parser takes an empty size for 0.

use super::error::ErrorKind;
use memchr::memchr2;

/// The limit of a size with its extensions, and of all trailers together.
const MAX_HEAD_BYTES: usize = 16 * 1024;

#[derive(Debug, Default)]
pub struct ChunkedDecoder {
    state: State,
    /// Bytes of the present size line, or of all trailers so far.
    head_bytes: usize,
    left: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Size,
    Extension,
    SizeEnd,
    Data,
    DataReturn,
    DataEnd,
    TrailerStart,
    Trailer,
    TrailerEnd,
    LastEnd,
    Done,
}

/// The bytes after a body, once it has ended.
pub type Rest<'a> = Result<Option<&'a [u8]>, ErrorKind>;

impl ChunkedDecoder {
    /// Decodes bytes; a chunk's data goes to the sink in pieces, and whether the chunk ends with them.
    pub fn feed<'a>(&mut self, mut bytes: &'a [u8], sink: &mut impl FnMut(&'a [u8], bool)) -> Rest<'a> {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.state {
                State::Data => {
                    let count = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                    self.left -= count as u64;
                    let last = self.left == 0;
                    sink(&bytes[..count], last);
                    if last {
                        self.state = State::DataReturn;
                    }
                    bytes = &bytes[count..];
                    continue;
                }
                State::Extension | State::Trailer => {
                    // Both are skipped up to the end of their line, which must come within the limit.
                    // The first fault counts, wherever the bytes were cut.
                    let end = memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
                    let is_bare = bytes.get(end) == Some(&b'\n');
                    self.head_bytes += end + usize::from(is_bare);
                    if self.head_bytes > MAX_HEAD_BYTES {
                        return Err(ErrorKind::TooLarge);
                    }
                    if is_bare {
                        return Err(ErrorKind::Protocol);
                    }
                    bytes = &bytes[end..];
                    if !bytes.is_empty() {
                        bytes = &bytes[1..];
                        self.state = match self.state {
                            State::Trailer => State::TrailerEnd,
                            _ => State::SizeEnd,
                        };
                    }
                    continue;
                }
                State::Size => self.size(byte)?,
                State::SizeEnd => {
                    self.state = if self.left == 0 { State::TrailerStart } else { State::Data };
                    self.head_bytes = 0;
                    expect(byte, b'\n')?;
                }
                State::DataReturn => {
                    expect(byte, b'\r')?;
                    self.state = State::DataEnd;
                }
                State::DataEnd => {
                    expect(byte, b'\n')?;
                    self.state = State::Size;
                }
                State::TrailerStart => {
                    self.state = match byte {
                        b'\r' => State::LastEnd,
                        b'\n' => return Err(ErrorKind::Protocol),
                        _ => State::Trailer,
                    };
                }
                State::TrailerEnd => {
                    expect(byte, b'\n')?;
                    self.head_bytes += 2;
                    self.state = State::TrailerStart;
                }
                State::LastEnd => {
                    expect(byte, b'\n')?;
                    self.state = State::Done;
                    return Ok(Some(rest));
                }
                State::Done => return Ok(Some(bytes)),
            }
            bytes = rest;
        }
        Ok(None)
    }

    fn size(&mut self, byte: u8) -> Result<(), ErrorKind> {
        let digits = self.head_bytes;
        match (byte as char).to_digit(16) {
            Some(_) if digits == 16 => return Err(ErrorKind::Protocol),
            Some(digit) => {
                self.left = self.left << 4 | u64::from(digit);
                self.head_bytes += 1;
            }
            None if digits == 0 => return Err(ErrorKind::Protocol),
            None if byte == b'\r' => self.state = State::SizeEnd,
            None if b"; \t".contains(&byte) => self.state = State::Extension,
            None => return Err(ErrorKind::Protocol),
        }
        Ok(())
    }
}

fn expect(byte: u8, expected: u8) -> Result<(), ErrorKind> {
    (byte == expected).then_some(()).ok_or(ErrorKind::Protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = Result<(Vec<Vec<u8>>, Vec<u8>), ErrorKind>;

    /// The chunks and the bytes after the body, fed in pieces of `step` bytes; Truncated where the body does not end.
    fn read(text: &[u8], step: usize) -> Read {
        let mut chunked = ChunkedDecoder::default();
        let (mut chunks, mut open) = (Vec::new(), Vec::new());
        let mut done = 0;
        for piece in text.chunks(step) {
            done += piece.len();
            let rest = chunked.feed(piece, &mut |piece, last| {
                open.extend_from_slice(piece);
                if last {
                    chunks.push(std::mem::take(&mut open));
                }
            })?;
            if let Some(rest) = rest {
                let mut left = rest.to_vec();
                left.extend_from_slice(&text[done..]);
                return Ok((chunks, left));
            }
        }
        Err(ErrorKind::Truncated)
    }

    #[test]
    fn reads_whole_and_in_any_pieces() {
        let long = vec![b'x'; 0x1a2];
        let chunks =
            b"5\r\nhello\r\n00b;x=\"y\"\r\n, old world\r\n000000000000000A \r\n0123456789\r\n1a2\r\n";
        let text = [&chunks[..], &long, b"\r\n0\r\nTrailer: 1\r\nB: 2\r\n\r\nHTTP"].concat();
        let right = vec![b"hello".to_vec(), b", old world".to_vec(), b"0123456789".to_vec(), long];
        for step in 1..=text.len() {
            assert_eq!(read(&text, step), Ok((right.clone(), b"HTTP".to_vec())), "{step}");
        }
    }

    #[test]
    fn refuses_invalid_chunks() {
        let bad: [&[u8]; 13] = [
            b"\r\n",
            b";x\r\n",
            b"-1\r\n",
            b"+1\r\n",
            b"0x1\r\n",
            b" 1\r\n",
            b"1\n",
            b"1\rx",
            b"00000000000000001\r\n",
            b"1\r\nab\r\n",
            b"1\r\na\n",
            b"0\r\n\n",
            b"0\r\nA: b\n\r\n",
        ];
        for text in bad {
            for step in 1..=text.len() {
                assert_eq!(read(text, step), Err(ErrorKind::Protocol), "{text:?} {step}");
            }
        }
        let mut bomb = b"1;".to_vec();
        bomb.resize(MAX_HEAD_BYTES + 10, b'x');
        assert_eq!(read(&bomb, 1000), Err(ErrorKind::TooLarge));
        let mut bomb = b"0\r\n".to_vec();
        for _ in 0..5000 {
            bomb.extend_from_slice(b"A: b\r\n");
        }
        assert_eq!(read(&bomb, 1000), Err(ErrorKind::TooLarge));
        let largest = b"ffffffffffffffff\r\nabc";
        assert_eq!(read(largest, 3), Err(ErrorKind::Truncated));
    }

    #[test]
    fn never_panics() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let alphabet = b"\r\n\r\n0123456789abcdefF; x-";
            let text: Vec<u8> =
                (0..random.usize(1..40)).map(|_| alphabet[random.usize(..alphabet.len())]).collect();
            let whole = read(&text, text.len());
            assert_eq!(read(&text, 1), whole, "{text:?}");
        }
    }

    #[test]
    fn limits_of_size_lines_and_trailers() {
        assert_eq!(MAX_HEAD_BYTES, 16_384);
        let line = |bytes: usize, start: &[u8], end: &[u8]| [start, &vec![b'x'; bytes], end].concat();
        // The digit of the size counts as well.
        let longest = line(MAX_HEAD_BYTES - 1, b"0;", b"\r\n\r\n");
        assert_eq!(read(&longest, 100), Ok((vec![], vec![])));
        let longer = line(MAX_HEAD_BYTES, b"0;", b"\r\n\r\n");
        assert_eq!(read(&longer, 100), Err(ErrorKind::TooLarge));
        let longest = line(MAX_HEAD_BYTES, b"0\r\n", b"\r\n\r\n");
        // The first byte of a trailer is not counted with it.
        assert!(read(&longest, 100).is_ok());
        // The first error counts, however the bytes are divided.
        for (bytes, error) in
            [(MAX_HEAD_BYTES - 3, ErrorKind::Protocol), (MAX_HEAD_BYTES - 2, ErrorKind::TooLarge)]
        {
            let bare = [line(bytes, b"0;x", b"\n"), vec![b'x'; MAX_HEAD_BYTES]].concat();
            for step in [1, 100, bare.len()] {
                assert_eq!(read(&bare, step), Err(error), "{bytes} {step}");
            }
        }
        // The trailers together: of each line five bytes count.
        let trailers = |lines| [&b"0\r\n"[..], &b"A: b\r\n".repeat(lines), b"\r\n"].concat();
        let most = MAX_HEAD_BYTES / 5 + 1;
        assert!(read(&trailers(most), 1000).is_ok());
        assert_eq!(read(&trailers(most + 1), 1000), Err(ErrorKind::TooLarge));
        let extensions = b"1;x\r\na\r\n".repeat(MAX_HEAD_BYTES);
        assert_eq!(read(&extensions, 1000), Err(ErrorKind::Truncated));
    }

    #[test]
    fn bytes_after_the_end_are_left() {
        let mut decoder = ChunkedDecoder::default();
        let mut chunks = 0;
        let rest = decoder.feed(b"1\r\na\r\n0\r\n\r\nrest", &mut |_, _| chunks += 1);
        assert_eq!(rest, Ok(Some(&b"rest"[..])));
        assert_eq!(decoder.feed(b"more", &mut |_, _| chunks += 1), Ok(Some(&b"more"[..])));
        assert_eq!(chunks, 1);
    }
}
