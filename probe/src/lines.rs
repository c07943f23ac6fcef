//! Splits a program's stdout into protocol lines and lines of its own, which are only counted.
//! The text is hostile: whatever comes, memory stays bounded and nothing panics.

use crate::evidence::quoted;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Longest protocol line, without its newline.
pub const MOST_BYTES: usize = 64 * 1024;
pub const MOST_LINES: u64 = 2000;

/// The bytes of a line's start that are kept to classify it: one character, or `::`.
const HEAD_BYTES: usize = 4;

#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    Ready { port: Option<u16> },
    Phase { name: String, ns: u64 },
    Await { name: String },
    Span(Span),
    Result(BTreeMap<String, String>),
}

/// A unit was busy with one piece of work, by the program's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    pub unit: u64,
    #[serde(rename = "begin_ns")]
    pub begin: u64,
    #[serde(rename = "end_ns")]
    pub end: u64,
}

/// What a protocol line said, or what was wrong with it.
pub type Parsed = Result<Event, String>;

pub struct Lines {
    total: u64,
    ascii: [u64; 128],
    /// Prefixes beyond ASCII that somebody asked for.
    others: Vec<(char, u64)>,
    wanted: Vec<char>,
    /// Of the program's own lines, each with its newline, where that was asked for.
    hash: Option<Sha256>,
    /// Nothing is a protocol line, and the hash is of the bytes as they are.
    plain: bool,
    state: State,
    protocol_lines: u64,
    result_seen: bool,
}

/// What is known of the line that has begun but not ended.
enum State {
    /// Too short to be classified.
    Head {
        bytes: [u8; HEAD_BYTES],
        len: usize,
    },
    /// A line of the program's own, already counted.
    Own,
    Protocol(Vec<u8>),
    /// A protocol line that was too long, already reported.
    Skipped,
}

const FRESH: State = State::Head {
    bytes: [0; HEAD_BYTES],
    len: 0,
};

impl Lines {
    /// `wanted`: prefixes to count; `hashed`: whether the lines' hash is wanted.
    pub fn new(wanted: impl Iterator<Item = char>, hashed: bool) -> Lines {
        let wanted: Vec<char> = wanted.collect();
        let others = wanted.iter().filter(|prefix| !prefix.is_ascii());
        Lines {
            total: 0,
            ascii: [0; 128],
            others: others.map(|&prefix| (prefix, 0)).collect(),
            wanted,
            hash: hashed.then(Sha256::new),
            plain: false,
            state: FRESH,
            protocol_lines: 0,
            result_seen: false,
        }
    }

    /// Of a program that knows nothing of the protocol: newlines are counted and all bytes hashed.
    pub fn plain() -> Lines {
        Lines {
            plain: true,
            ..Lines::new(std::iter::empty(), true)
        }
    }

    /// Lines that are not protocol lines.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them begin with each prefix that was asked for.
    pub fn starting(&self) -> BTreeMap<char, u64> {
        let count = |&prefix: &char| {
            let count = match self.ascii.get(prefix as usize) {
                Some(&count) => count,
                None => self
                    .others
                    .iter()
                    .find(|(own, _)| *own == prefix)
                    .map_or(0, |x| x.1),
            };
            (prefix, count)
        };
        self.wanted.iter().map(count).collect()
    }

    /// SHA-256 of the lines that have ended, of a plain program's bytes; in hexadecimal digits.
    pub fn hash(&self) -> Option<String> {
        let digest = self.hash.clone()?.finalize();
        Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Takes the next bytes; `on` gets each protocol line that ends in them.
    pub fn feed(&mut self, mut bytes: &[u8], on: &mut dyn FnMut(Parsed)) {
        if self.plain {
            self.total += memchr::memchr_iter(b'\n', bytes).count() as u64;
            return self.take_in(bytes);
        }
        // A line that began in an earlier piece.
        if !matches!(self.state, State::Head { len: 0, .. }) {
            match memchr::memchr(b'\n', bytes) {
                Some(end) => {
                    self.carry_on(&bytes[..end], on);
                    self.end(on);
                    bytes = &bytes[end + 1..];
                }
                None => return self.carry_on(bytes, on),
            }
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let line = &bytes[start..end];
            start = end + 1;
            if line.starts_with(b"::") {
                self.protocol(line, on);
            } else {
                self.count(line);
                self.take_in(&bytes[end - line.len()..=end]);
            }
        }
        if start < bytes.len() {
            self.carry_on(&bytes[start..], on);
        }
    }

    /// The output has ended: a last line without a newline is a line too.
    pub fn finish(&mut self, on: &mut dyn FnMut(Parsed)) {
        if !matches!(self.state, State::Head { len: 0, .. }) {
            self.end(on);
        }
    }

    fn count(&mut self, head: &[u8]) {
        self.total += 1;
        match head.first() {
            Some(&first) if first < 128 => self.ascii[usize::from(first)] += 1,
            Some(_) => self.count_other(head),
            None => {}
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
    }

    #[cold]
    fn count_other(&mut self, head: &[u8]) {
        for (prefix, count) in &mut self.others {
            let mut bytes = [0; 4];
            if head.starts_with(prefix.encode_utf8(&mut bytes).as_bytes()) {
                *count += 1;
            }
        }
    }

    fn carry_on(&mut self, mut piece: &[u8], on: &mut dyn FnMut(Parsed)) {
        if let State::Head { mut bytes, mut len } = self.state {
            let take = piece.len().min(HEAD_BYTES - len);
            bytes[len..len + take].copy_from_slice(&piece[..take]);
            len += take;
            piece = &piece[take..];
            self.state = if len >= 2 && bytes.starts_with(b"::") {
                State::Protocol(bytes[..len].to_vec())
            } else if len == HEAD_BYTES {
                self.count(&bytes);
                self.take_in(&bytes);
                State::Own
            } else {
                State::Head { bytes, len }
            };
        }
        if let State::Own = self.state {
            self.take_in(piece);
        } else if let State::Protocol(line) = &mut self.state {
            if line.len() + piece.len() > MOST_BYTES {
                self.state = State::Skipped;
                self.too_long(on);
            } else {
                line.extend_from_slice(piece);
            }
        }
    }

    fn end(&mut self, on: &mut dyn FnMut(Parsed)) {
        match std::mem::replace(&mut self.state, FRESH) {
            State::Head { bytes, len } => {
                self.count(&bytes[..len]);
                self.take_in(&bytes[..len]);
                self.take_in(b"\n");
            }
            State::Own => self.take_in(b"\n"),
            State::Skipped => {}
            State::Protocol(line) => self.protocol(&line, on),
        }
    }

    fn too_long(&mut self, on: &mut dyn FnMut(Parsed)) {
        self.protocol_lines += 1;
        if self.protocol_lines <= MOST_LINES {
            on(Err(format!(
                "a protocol line has more than {MOST_BYTES} bytes"
            )));
        }
    }

    fn protocol(&mut self, line: &[u8], on: &mut dyn FnMut(Parsed)) {
        if line.len() > MOST_BYTES {
            return self.too_long(on);
        }
        self.protocol_lines += 1;
        // One report is enough: the rest is only skipped.
        if self.protocol_lines > MOST_LINES {
            if self.protocol_lines == MOST_LINES + 1 {
                on(Err(format!("more than {MOST_LINES} protocol lines")));
            }
            return;
        }
        let mut parsed = parse(line);
        if let Ok(Event::Result(_)) = parsed {
            if self.result_seen {
                parsed = Err("a second ::result".into());
            }
            self.result_seen = true;
        }
        on(parsed);
    }
}

/// Parses one line that begins with `::`.
fn parse(line: &[u8]) -> Parsed {
    let text = std::str::from_utf8(line)
        .map_err(|_| format!("{} is not UTF-8", quoted(&String::from_utf8_lossy(line))))?;
    let wrong = |why: &str| format!("{}: {why}", quoted(text));
    if text.chars().any(char::is_control) {
        return Err(wrong("a control character"));
    }
    let mut words = text[2..].split(' ');
    let word = words.next().unwrap_or("");
    if !["ready", "phase", "await", "span", "result"].contains(&word) {
        return Err(wrong(
            "not a protocol line: ready, phase, await, span, result",
        ));
    }
    let mut pairs = BTreeMap::new();
    for pair in words {
        if pair.contains(char::is_whitespace) {
            return Err(wrong("white space other than one space"));
        }
        match pair.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                if pairs.insert(key.to_owned(), value.to_owned()).is_some() {
                    return Err(wrong(&format!("{} twice", quoted(key))));
                }
            }
            Some(_) => return Err(wrong("a pair without a key")),
            None => return Err(wrong("a pair without =")),
        }
    }
    let mut name = || match pairs.remove("name") {
        Some(name) if !name.is_empty() => Ok(name),
        _ => Err(wrong("no name")),
    };
    match word {
        "ready" => {
            let port = match pairs.get("port") {
                None => None,
                Some(port) => match number(port).and_then(|port| u16::try_from(port).ok()) {
                    Some(port) if port > 0 => Some(port),
                    _ => return Err(wrong("port is not a number from 1 to 65535")),
                },
            };
            Ok(Event::Ready { port })
        }
        "phase" => {
            let name = name()?;
            let ns = pairs.get("ns").and_then(|ns| number(ns));
            let ns = ns.ok_or_else(|| wrong("ns is not a number of nanoseconds"))?;
            Ok(Event::Phase { name, ns })
        }
        "await" => Ok(Event::Await { name: name()? }),
        "span" => {
            let value = |key: &str| pairs.get(key).and_then(|value| number(value));
            match (value("unit"), value("begin"), value("end")) {
                (Some(unit), Some(begin), Some(end)) if begin <= end => {
                    Ok(Event::Span(Span { unit, begin, end }))
                }
                _ => Err(wrong("needs unit, begin and end, which is not before it")),
            }
        }
        _ => Ok(Event::Result(pairs)),
    }
}

/// Decimal digits only: `parse` alone would take a plus sign.
fn number(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_program_speaks_no_protocol() {
        let mut lines = Lines::plain();
        let mut events = Vec::new();
        for piece in [&b"::result a"[..], b"\n::no", b" protocol\nand no newline"] {
            lines.feed(piece, &mut |event| events.push(event));
        }
        lines.finish(&mut |event| events.push(event));
        assert!(events.is_empty());
        assert_eq!(lines.total(), 2);
        let whole = Sha256::digest(b"::result a\n::no protocol\nand no newline");
        let whole: String = whole.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(lines.hash(), Some(whole));
    }

    type Read = (u64, BTreeMap<char, u64>, Vec<Parsed>);

    fn read(pieces: &[&[u8]]) -> Read {
        let (total, starting, events, _) = read_and_hash(pieces);
        (total, starting, events)
    }

    fn read_and_hash(pieces: &[&[u8]]) -> (u64, BTreeMap<char, u64>, Vec<Parsed>, String) {
        let mut lines = Lines::new(":*>→".chars(), true);
        let mut events = Vec::new();
        for piece in pieces {
            lines.feed(piece, &mut |event| events.push(event));
        }
        lines.finish(&mut |event| events.push(event));
        let hash = lines.hash().unwrap();
        (lines.total(), lines.starting(), events, hash)
    }

    fn one(line: &str) -> Parsed {
        let (total, _, mut events) = read(&[line.as_bytes(), b"\n"]);
        assert_eq!((total, events.len()), (0, 1), "{line:?}");
        events.remove(0)
    }

    #[test]
    fn counts_lines_of_the_programs_own() {
        let text = ": a\n\n* b\n:\n→ c\n\u{e9}\n:x::y\nlast";
        let (total, starting, events) = read(&[text.as_bytes()]);
        assert_eq!(total, 8);
        assert_eq!(starting, [(':', 3), ('*', 1), ('>', 0), ('→', 1)].into());
        assert!(events.is_empty());
    }

    #[test]
    fn protocol_lines() {
        assert_eq!(
            one("::ready port=40123"),
            Ok(Event::Ready { port: Some(40123) })
        );
        assert_eq!(one("::ready"), Ok(Event::Ready { port: None }));
        let phase = Event::Phase {
            name: "relay".into(),
            ns: 12,
        };
        assert_eq!(one("::phase name=relay ns=12"), Ok(phase));
        assert_eq!(
            one("::await name=x=y"),
            Ok(Event::Await { name: "x=y".into() })
        );
        let span = Span {
            unit: 3,
            begin: 5,
            end: 9,
        };
        assert_eq!(one("::span unit=3 begin=5 end=9"), Ok(Event::Span(span)));
        let result = [("a".into(), "1".into()), ("b".into(), "".into())].into();
        assert_eq!(one("::result a=1 b="), Ok(Event::Result(result)));
    }

    #[test]
    fn wrong_lines() {
        for line in [
            "::",
            "::what",
            ":: ready",
            "::ready port",
            "::ready port=0",
            "::ready port=65536",
            "::ready port=+1",
            "::ready port=-1",
            "::phase",
            "::phase name=a",
            "::phase ns=1",
            "::phase name= ns=1",
            "::phase name=a ns=1e999",
            "::phase name=a ns=-1",
            "::phase name=a ns=1208925819614629174706176",
            "::phase name=a ns=",
            "::phase name=a ns=1.0",
            "::phase name=a name=b ns=1",
            "::phase  name=a ns=1",
            "::result a",
            "::result =1",
            "::result a=1 a=1",
            "::result a=1 ",
            "::result a=1\r",
            "::result a=\u{1b}[2J",
            "::result a=\0",
            "::result a\u{2003}=1",
            "::span unit=1 begin=2",
            "::span unit=1 begin=2 end=1",
            "::span unit=-1 begin=1 end=2",
            "::ready\tport=1",
            "::await",
            "::Ready",
        ] {
            assert!(one(line).is_err(), "{line:?}");
        }
        let (_, _, events) = read(&[b"::result a=\xff\n"]);
        assert!(events[0].is_err());
    }

    #[test]
    fn a_second_result_is_wrong() {
        let (_, _, events) = read(&[b"::result a=1\n::result a=1\n"]);
        assert!(events[0].is_ok() && events[1].is_err());
    }

    #[test]
    fn long_lines_are_bounded() {
        let edge = [b"::result a=".as_slice(), &vec![b'x'; MOST_BYTES - 11]].concat();
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
        let text = b"::phase name=a ns=1\n".repeat(10_000);
        let (_, _, events) = read(&[&text]);
        assert_eq!(events.len(), MOST_LINES as usize + 1);
        assert!(events[MOST_LINES as usize].is_err());
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
            let parts: Vec<&[u8]> = (0..count)
                .map(|_| PARTS[random.usize(..PARTS.len())])
                .collect();
            let text = parts.concat();
            let mut at: Vec<usize> = (0..random.usize(..6))
                .map(|_| random.usize(..=text.len()))
                .collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect();
            let whole = read_and_hash(&[&text]);
            assert_eq!(read_and_hash(&pieces), whole, "seed {seed}");
            let mut own = Sha256::new();
            for line in text.split_inclusive(|&byte| byte == b'\n') {
                if !line.starts_with(b"::") {
                    own.update(line.strip_suffix(b"\n").unwrap_or(line));
                    own.update(b"\n");
                }
            }
            let own: String = own.finalize().iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(whole.3, own, "seed {seed}");
        }
    }
}
