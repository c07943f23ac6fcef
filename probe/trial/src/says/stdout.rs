//! Splits a program's stdout into protocol lines and ordinary lines, which are only counted.
//! The text is hostile: for any input, memory stays bounded and nothing panics.

use crate::says::protocol_line::{parse, Event, Parsed};
use hmac_sha256::Hash;
use std::collections::BTreeMap;
use wire::os::find_byte;
use xxhash_rust::xxh3::Xxh3Default;

/// Longest protocol line, without its newline.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
pub const MAX_LINES: u64 = 25_000;

/// The bytes of a line's start that are kept to classify it: `::` or another character.
const HEAD_BYTES: usize = 2;

pub struct StdoutParser {
    /// The number of ordinary lines: those that are not protocol lines. Those of a plain program are not counted.
    pub total: u64,
    /// By their first byte.
    ascii: [u64; 128],
    prefixes: Vec<char>,
    /// The hash of ordinary lines, each with its newline, if the request asks for it.
    hash: Option<Hash>,
    /// The hash of a plain program's bytes: no line is a protocol line. A program that wanted to pass for
    /// another could print what that prints, so the hash need not resist forgery; it must not slow the
    /// program.
    plain: Option<Box<Xxh3Default>>,
    state: State,
    protocol_lines: u64,
    has_ready: bool,
    has_result: bool,
}

/// The line that has begun and not ended.
enum State {
    /// Too short to be classified.
    Head {
        bytes: [u8; HEAD_BYTES],
        len: usize,
    },
    /// An ordinary line, already counted.
    Ordinary,
    Protocol(Vec<u8>),
    /// A protocol line that was too long, already reported.
    Skipped,
}

const LINE_START: State = State::Head { bytes: [0; HEAD_BYTES], len: 0 };

impl StdoutParser {
    /// `prefixes`: first characters, of ASCII, by which lines are counted; `hashed`: whether lines are hashed.
    pub fn new(prefixes: impl Iterator<Item = char>, hashed: bool) -> StdoutParser {
        StdoutParser {
            total: 0,
            ascii: [0; 128],
            prefixes: prefixes.collect(),
            hash: hashed.then(Hash::new),
            plain: None,
            state: LINE_START,
            protocol_lines: 0,
            has_ready: false,
            has_result: false,
        }
    }

    /// For a program without the protocol: hashes all bytes. It counts no lines, since each costs a search and no
    /// reader needs their number.
    pub fn plain() -> StdoutParser {
        StdoutParser { plain: Some(Box::default()), ..StdoutParser::new(std::iter::empty(), false) }
    }

    /// The number of ordinary lines by prefix.
    pub fn starting(&self) -> BTreeMap<char, u64> {
        let count = |&prefix: &char| (prefix, self.ascii.get(prefix as usize).copied().unwrap_or(0));
        self.prefixes.iter().map(count).collect()
    }

    /// XXH3 (128 bits) of a plain program's bytes, in hexadecimal digits.
    pub fn plain_hash(&self) -> Option<String> {
        let hash = self.plain.as_ref()?;
        Some(format!("{:032x}", hash.digest128()))
    }

    /// SHA-256 of the ordinary lines that have ended, in hexadecimal digits.
    pub fn hash(&self) -> Option<String> {
        Some(self.hash?.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Parses the next bytes; `on_event` gets each protocol line that ends in them.
    pub fn feed(&mut self, mut bytes: &[u8], on_event: &mut dyn FnMut(Parsed)) {
        if let Some(hash) = &mut self.plain {
            return hash.update(bytes);
        }
        // A line that began in an earlier piece.
        if !matches!(self.state, State::Head { len: 0, .. }) {
            match find_byte(b'\n', bytes) {
                Some(end) => {
                    self.continue_line(&bytes[..end], on_event);
                    self.end_line(on_event);
                    bytes = &bytes[end + 1..];
                }
                None => return self.continue_line(bytes, on_event),
            }
        }
        while let Some(end) = find_byte(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if let [b':', b':', ..] = line {
                self.protocol(&line[..end], on_event);
            } else {
                self.count(&line[..end]);
                self.hash_bytes(line);
            }
        }
        if !bytes.is_empty() {
            self.continue_line(bytes, on_event);
        }
    }

    /// The output has ended: a last line without a newline is a line as well.
    pub fn finish(&mut self, on_event: &mut dyn FnMut(Parsed)) {
        if !matches!(self.state, State::Head { len: 0, .. }) {
            self.end_line(on_event);
        }
    }

    fn count(&mut self, head: &[u8]) {
        self.total += 1;
        let count = head.first().and_then(|&first| self.ascii.get_mut(usize::from(first)));
        count.into_iter().for_each(|count| *count += 1);
    }

    fn hash_bytes(&mut self, bytes: &[u8]) {
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
    }

    fn continue_line(&mut self, mut piece: &[u8], on_event: &mut dyn FnMut(Parsed)) {
        if let State::Head { mut bytes, mut len } = self.state {
            let take = piece.len().min(HEAD_BYTES - len);
            bytes[len..len + take].copy_from_slice(&piece[..take]);
            len += take;
            piece = &piece[take..];
            self.state = if bytes == *b"::" {
                State::Protocol(bytes.to_vec())
            } else if len == HEAD_BYTES {
                self.count(&bytes);
                self.hash_bytes(&bytes);
                State::Ordinary
            } else {
                State::Head { bytes, len }
            };
        }
        if let State::Ordinary = self.state {
            self.hash_bytes(piece);
        } else if let State::Protocol(line) = &mut self.state {
            if line.len() + piece.len() > MAX_LINE_BYTES {
                self.state = State::Skipped;
                self.too_long(on_event);
            } else {
                line.extend_from_slice(piece);
            }
        }
    }

    fn end_line(&mut self, on_event: &mut dyn FnMut(Parsed)) {
        match std::mem::replace(&mut self.state, LINE_START) {
            State::Head { bytes, len } => {
                self.count(&bytes[..len]);
                self.hash_bytes(&bytes[..len]);
                self.hash_bytes(b"\n");
            }
            State::Ordinary => self.hash_bytes(b"\n"),
            State::Skipped => {}
            State::Protocol(line) => self.protocol(&line, on_event),
        }
    }

    fn too_long(&mut self, on_event: &mut dyn FnMut(Parsed)) {
        if self.counts(on_event) {
            on_event(Err(format!("a protocol line has more than {MAX_LINE_BYTES} bytes")));
        }
    }

    /// Counts a protocol line; whether it is one of those that are read. One error is enough for the rest.
    fn counts(&mut self, on_event: &mut dyn FnMut(Parsed)) -> bool {
        self.protocol_lines += 1;
        if self.protocol_lines == MAX_LINES + 1 {
            on_event(Err(format!("more than {MAX_LINES} protocol lines")));
        }
        self.protocol_lines <= MAX_LINES
    }

    fn protocol(&mut self, line: &[u8], on_event: &mut dyn FnMut(Parsed)) {
        if line.len() > MAX_LINE_BYTES {
            return self.too_long(on_event);
        }
        if !self.counts(on_event) {
            return;
        }
        let mut parsed = parse(line);
        let once = match parsed {
            Ok(Event::Ready { .. }) => Some(("::ready", &mut self.has_ready)),
            Ok(Event::Result(_)) => Some(("::result", &mut self.has_result)),
            _ => None,
        };
        if let Some((word, has_come)) = once {
            if std::mem::replace(has_come, true) {
                parsed = Err(format!("a second {word}"));
            }
        }
        on_event(parsed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_program_has_no_protocol_lines() {
        let mut parser = StdoutParser::plain();
        let mut events = Vec::new();
        for piece in [&b"::result a"[..], b"\n::no", b" protocol\nand no newline"] {
            parser.feed(piece, &mut |event| events.push(event));
        }
        parser.finish(&mut |event| events.push(event));
        assert!(events.is_empty());
        // As `xxhsum -H2` has it.
        let whole = "10d9a3c7bdf5c853a75c853fdef3e7ce";
        assert_eq!(parser.plain_hash().as_deref(), Some(whole));
        assert_eq!(parser.hash(), None);
    }

    type Read = (u64, BTreeMap<char, u64>, Vec<Parsed>);

    fn read(pieces: &[&[u8]]) -> Read {
        let (total, starting, events, _) = read_and_hash(pieces);
        (total, starting, events)
    }

    fn read_and_hash(pieces: &[&[u8]]) -> (u64, BTreeMap<char, u64>, Vec<Parsed>, String) {
        let mut parser = StdoutParser::new(":*>".chars(), true);
        let mut events = Vec::new();
        for piece in pieces {
            parser.feed(piece, &mut |event| events.push(event));
        }
        parser.finish(&mut |event| events.push(event));
        let hash = parser.hash().unwrap();
        (parser.total, parser.starting(), events, hash)
    }

    #[test]
    fn counts_ordinary_lines() {
        let text = ": a\n\n* b\n:\n→ c\n\u{e9}\n:x::y\nlast";
        let (total, starting, events) = read(&[text.as_bytes()]);
        assert_eq!(total, 8);
        assert_eq!(starting, [(':', 3), ('*', 1), ('>', 0)].into());
        assert!(events.is_empty());
        // The first byte that is not ASCII begins no character.
        let (total, starting, _) = read(&[b"\x80\n\x7f\n"]);
        assert_eq!((total, starting.values().sum()), (2, 0));
    }

    #[test]
    fn a_second_result_or_ready_is_wrong() {
        for line in ["::result a=1", "::ready port=1", "::ready"] {
            let (_, _, events) = read(&[format!("{line}\n{line}\n").as_bytes()]);
            let word = line.split(' ').next().unwrap();
            assert!(events[0].is_ok(), "{line}");
            assert_eq!(events[1], Err(format!("a second {word}")));
        }
    }

    #[test]
    fn long_lines_are_bounded() {
        assert_eq!(MAX_LINE_BYTES, 65_536);
        let edge = [b"::result a=".as_slice(), &vec![b'x'; MAX_LINE_BYTES - 11]].concat();
        for extra in [0, 1] {
            let text = [edge.as_slice(), &vec![b'x'; extra], b"\nown\n"].concat();
            for size in [1, 1000, text.len()] {
                let pieces: Vec<&[u8]> = text.chunks(size).collect();
                let (total, _, events) = read(&pieces);
                assert_eq!((total, events.len()), (1, 1));
                assert_eq!(events[0].is_ok(), extra == 0);
            }
        }
    }

    #[test]
    fn many_protocol_lines_give_one_error() {
        let text = b"::phase name=a ns=1\n".repeat(2 * MAX_LINES as usize);
        let (_, _, events) = read(&[&text]);
        assert_eq!(events.len(), MAX_LINES as usize + 1);
        assert!(events[MAX_LINES as usize].is_err());
    }

    #[test]
    fn lines_that_are_too_long_count_too() {
        let valid = b"::phase name=a ns=1\n";
        let long = [b"::", &vec![b'x'; MAX_LINE_BYTES][..], b"\n"].concat();
        for missing in [0, 1] {
            let text = [valid.repeat(MAX_LINES as usize - missing), long.repeat(2), valid.to_vec()].concat();
            let (_, _, events) = read(&[&text]);
            let errors: Vec<String> = events.into_iter().filter_map(Result::err).collect();
            let right = ["a protocol line has more than 65536 bytes", "more than 25000 protocol lines"];
            assert_eq!(errors, right[1 - missing..]);
        }
    }

    #[test]
    fn every_split_point_gives_the_same() {
        let text = "::ready port=1\n: a\n::\n→ x\n\n::phase name=p ns=3\n:\n::result k=é\n* tail";
        let whole = read(&[text.as_bytes()]);
        for split in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(split);
            assert_eq!(read(&[left, right]), whole, "split at {split}");
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes), whole);
    }

    #[test]
    fn any_bytes_in_any_pieces() {
        const PARTS: [&[u8]; 13] = [
            b"::",
            b":",
            b"\n",
            b"\n\n",
            b"ready port=1",
            b"phase name=a ns=1",
            b" ",
            b"result a=1",
            b"\xe2\x86\x92",
            b"\xff",
            b"\0",
            b"* x",
            b"await name=\x1b",
        ];
        for seed in 0..2000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let count = random.usize(..40);
            let parts: Vec<&[u8]> = (0..count).map(|_| PARTS[random.usize(..PARTS.len())]).collect();
            let text = parts.concat();
            let mut at: Vec<usize> = (0..random.usize(..6)).map(|_| random.usize(..=text.len())).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect();
            let whole = read_and_hash(&[&text]);
            assert_eq!(read_and_hash(&pieces), whole, "seed {seed}");
            let mut own = Hash::new();
            for line in text.split_inclusive(|&byte| byte == b'\n') {
                if !line.starts_with(b"::") {
                    own.update(line.strip_suffix(b"\n").unwrap_or(line));
                    own.update(b"\n");
                }
            }
            let digits: String = own.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(whole.3, digits, "seed {seed}");
        }
    }
}
