//! Checks bodies and lines against the expectation of a plan.

use super::error::ErrorKind;
use super::plan::Expect;
use super::text::{latin1_bytes, latin1_text, MAX_MESSAGE_BYTES};
use memchr::memmem;
use regex_lite::Regex;
use wire::refuse;
use wire::text::{quoted, quoted_bytes};
use xxhash_rust::xxh3::Xxh3Default;

/// The expectation for all bodies.
#[derive(Clone, Debug, Default)]
pub struct BodyCheck {
    status: Option<u16>,
    equals: Option<Vec<u8>>,
    contains: Option<Vec<u8>>,
    /// A pattern that the whole body, with a character for each byte, must match; and its text.
    matches: Option<(Regex, String)>,
}

/// The state of the check of one body.
#[derive(Default)]
pub struct BodyState {
    bytes: usize,
    differs: bool,
    contains: bool,
    /// The last bytes, in which a text that the body must contain may begin; the whole body where it must match a
    /// pattern.
    tail: Vec<u8>,
    /// The first bytes of a body that is not, or not yet, what it must be.
    seen: Vec<u8>,
    /// For the first bodies of a shard.
    digest: Option<Box<Xxh3Default>>,
}

/// The first bytes of a body that gzip has compressed (RFC 1952, section 2.3.1).
const GZIP: &[u8] = b"\x1f\x8b";
/// How much of a wrong body is kept to be shown.
const MAX_SEEN_BYTES: usize = 512;

impl BodyState {
    /// Starts over with the next body. `is_sampled`: keep its content.
    pub fn reset(&mut self, is_sampled: bool) {
        self.bytes = 0;
        self.differs = false;
        self.contains = false;
        self.tail.clear();
        self.seen.clear();
        self.digest = is_sampled.then(Box::default);
    }

    /// Length and hash, if the load needs them.
    pub fn digest(&self) -> Option<(u64, u64)> {
        let digest = self.digest.as_ref()?;
        Some((self.bytes as u64, digest.digest()))
    }

    /// The number of bytes so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// These are the first bytes of the body of a response that failed.
    pub fn show(&mut self, bytes: &[u8]) {
        if self.seen.is_empty() {
            self.see(bytes);
        }
    }

    fn see(&mut self, bytes: &[u8]) {
        let room = MAX_SEEN_BYTES - self.seen.len();
        self.seen.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl BodyCheck {
    /// The error is one line.
    pub fn new(expect: &Expect) -> Result<BodyCheck, String> {
        let Expect { status, equals, contains, matches } = expect;
        let is_wrong = matches.is_some() && (equals.is_some() || contains.is_some());
        refuse!(is_wrong, "load: expect: `matches` stands alone, without equals and contains");
        let bytes = |text: &String| latin1_bytes(text).ok_or("load: expect: a character above U+00FF");
        let pattern = |text: &String| Ok::<_, String>((compile(text)?, text.clone()));
        Ok(BodyCheck {
            status: *status,
            equals: equals.as_ref().map(bytes).transpose()?,
            contains: contains.as_ref().map(bytes).transpose()?,
            matches: matches.as_ref().map(pattern).transpose()?,
        })
    }

    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        self.equals.is_none() && self.contains.is_none() && self.matches.is_none()
    }

    /// Checks the next bytes of a body.
    pub fn feed(&self, state: &mut BodyState, bytes: &[u8]) {
        if let Some(equals) = &self.equals {
            let (before, rest) = equals.split_at(state.bytes.min(equals.len()));
            if !state.differs && !rest.starts_with(bytes) {
                state.differs = true;
                state.see(before);
            }
            if state.differs {
                state.see(bytes);
            }
        }
        state.bytes += bytes.len();
        if let Some(digest) = &mut state.digest {
            digest.update(bytes);
        }
        if self.matches.is_some() {
            let room = MAX_MESSAGE_BYTES.saturating_sub(state.tail.len());
            state.differs |= bytes.len() > room;
            let kept = &bytes[..bytes.len().min(room)];
            state.tail.extend_from_slice(kept);
            return;
        }
        if let Some(contains) = self.contains.as_ref().filter(|_| !state.contains) {
            state.tail.extend_from_slice(bytes);
            state.contains = memmem::find(&state.tail, contains).is_some();
            if !state.contains && self.equals.is_none() {
                state.see(bytes);
            }
            let kept = contains.len().saturating_sub(1).min(state.tail.len());
            state.tail.drain(..state.tail.len() - kept);
        }
    }

    /// Checks a body that is complete. `status`: of an HTTP response.
    pub fn finish(&self, state: &BodyState, status: Option<u16>) -> Result<(), ErrorKind> {
        self.check_status(status)?;
        let length = self.equals.as_ref().map_or(state.bytes, Vec::len);
        let matches = match (&self.matches, &self.contains) {
            (Some((pattern, _)), _) => pattern.is_match(&latin1_text(&state.tail)),
            // A body without bytes was never looked at.
            (None, Some(text)) => state.contains || text.is_empty(),
            (None, None) => true,
        };
        (matches && !state.differs && state.bytes == length).then_some(()).ok_or(ErrorKind::Content)
    }

    /// A body that `finish` found wrong, and the expected one, in words. Hostile text, quoted.
    pub fn difference(&self, state: &BodyState, status: Option<u16>) -> String {
        if let (Err(_), Some(status)) = (self.check_status(status), status) {
            let expected = match self.status {
                Some(expected) => expected.to_string(),
                None => "one from 200 to 399".into(),
            };
            let body = match state.seen.is_empty() {
                true => String::new(),
                false => format!(", with the body {}", quoted_bytes(&state.seen)),
            };
            if status < 100 {
                return format!("grpc-status {status}{body}");
            }
            let remedy = match status {
                407 => " (a proxy asks for a user: --proxy http://USER:PASSWORD@HOST:PORT)",
                _ => "",
            };
            return format!("status {status}{remedy} instead of {expected}{body}");
        }
        let expected = match (&self.equals, &self.matches, &self.contains) {
            (Some(equals), ..) => quoted_bytes(equals),
            (None, Some((_, text)), _) => format!("what matches {}", quoted(text)),
            (None, None, Some(contains)) => format!("what contains {}", quoted_bytes(contains)),
            (None, None, None) => "its own text".into(),
        };
        let seen = match &self.equals {
            // It ended too early.
            Some(equals) if !state.differs => &equals[..state.bytes.min(equals.len())],
            None if self.matches.is_some() => &state.tail,
            _ => &state.seen,
        };
        let packed = match seen.starts_with(GZIP) {
            true => " (compressed by gzip: bodies are compared as they come, so do not ask for that)",
            false => "",
        };
        format!("{}{packed} instead of {expected}", quoted_bytes(seen))
    }

    /// Checks the status alone; without an expectation 2xx and 3xx are right.
    pub fn check_status(&self, status: Option<u16>) -> Result<(), ErrorKind> {
        let right = match (self.status, status) {
            (_, None) => true,
            (Some(expected), Some(status)) => status == expected,
            (None, Some(status)) => (200..400).contains(&status),
        };
        right.then_some(()).ok_or(ErrorKind::Status)
    }
}

fn compile(text: &str) -> Result<Regex, String> {
    Regex::new(&format!("^(?:{text})$")).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or("not a pattern");
        format!("load: expect: matches: {text:?}: {}", last.trim_start_matches("error: "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expect: &str) -> BodyCheck {
        BodyCheck::new(&serde_json::from_str(expect).unwrap()).unwrap()
    }

    /// The error of a body that comes in pieces of this size; empty if the body is right.
    fn wrong(check: &BodyCheck, body: &[u8], status: Option<u16>, step: usize) -> String {
        let mut state = BodyState::default();
        body.chunks(step).for_each(|piece| check.feed(&mut state, piece));
        assert_eq!(state.bytes(), body.len());
        match check.finish(&state, status) {
            Ok(()) => String::new(),
            Err(kind) => format!("{kind}: {}", check.difference(&state, status)),
        }
    }

    #[test]
    fn patterns_match_the_whole() {
        let pattern = compile("a|b+").unwrap();
        assert!(pattern.is_match("bb") && !pattern.is_match("ab"));
        let error = compile("a[").unwrap_err();
        assert!(error.contains("matches: \"a[\": ") && error.contains("bracket"), "{error}");
        assert!(!error.contains('\n'));
    }

    /// An expectation, a body, and what is wrong with it, however it was cut.
    #[test]
    fn bodies_in_any_pieces() {
        let equals = r#"{"equals": "6765\n"}"#;
        let contains = r#"{"contains": "aab"}"#;
        let matches = r#"{"matches": "\\.*2\\d\\d|\\xff+"}"#;
        let long = [b'9'; 100_000];
        let shown_long = format!(r"content: '{}…' instead of '6765\n'", "9".repeat(80));
        for (expect, body, difference) in [
            ("{}", &b"anything"[..], ""),
            (equals, b"6765\n", ""),
            (equals, b"6766\n", r"content: '6766\n' instead of '6765\n'"),
            (equals, b"67", r"content: '67' instead of '6765\n'"),
            (equals, b"", r"content: '' instead of '6765\n'"),
            (equals, b"6765\n!", r"content: '6765\n!' instead of '6765\n'"),
            (equals, b"\x1b[2J", r"content: '\u{1b}[2J' instead of '6765\n'"),
            (equals, &long, &shown_long),
            (r#"{"contains": ""}"#, b"", ""),
            (contains, b"xaaaab", ""),
            (contains, b"xaaxab", "content: 'xaaxab' instead of what contains 'aab'"),
            (matches, b"..200", ""),
            (matches, b"234", ""),
            (matches, b"\xff\xff", ""),
            (matches, b"", r"content: '' instead of what matches '\\.*2\\d\\d|\\xff+'"),
            (matches, b"2345", r"content: '2345' instead of what matches '\\.*2\\d\\d|\\xff+'"),
            (matches, b".200.", r"content: '.200.' instead of what matches '\\.*2\\d\\d|\\xff+'"),
        ] {
            for step in [1, 2, 3, 5, 1000] {
                assert_eq!(wrong(&check(expect), body, Some(200), step), difference, "{step}");
            }
        }
    }

    #[test]
    fn statuses() {
        let exact = r#"{"status": 404}"#;
        for (expect, status, difference) in [
            ("{}", Some(199), "status: status 199 instead of one from 200 to 399"),
            ("{}", Some(200), ""),
            ("{}", Some(399), ""),
            ("{}", Some(400), "status: status 400 instead of one from 200 to 399"),
            (
                exact,
                Some(407),
                "status: status 407 (a proxy asks for a user: --proxy http://USER:PASSWORD@HOST:PORT) instead of 404",
            ),
            ("{}", None, ""),
            (exact, Some(404), ""),
            (exact, Some(200), "status: status 200 instead of 404"),
            (exact, None, ""),
        ] {
            assert_eq!(wrong(&check(expect), b"", status, 1), difference);
        }
        let mut state = BodyState::default();
        state.show(b"\x1bno database");
        state.show(b", sorry");
        let shown = check(exact).difference(&state, Some(500));
        assert_eq!(shown, r"status 500 instead of 404, with the body '\u{1b}no database'");
        assert!(check(exact).is_empty());
        assert!(["equals", "contains", "matches"]
            .iter()
            .all(|key| !check(&format!(r#"{{"{key}": "x"}}"#)).is_empty()));
    }

    #[test]
    fn the_limit_of_a_matched_body() {
        assert_eq!(MAX_MESSAGE_BYTES, 65_536);
        let check = check(r#"{"matches": "x*"}"#);
        for (bytes, is_right) in [(MAX_MESSAGE_BYTES, true), (MAX_MESSAGE_BYTES + 1, false)] {
            assert_eq!(wrong(&check, &vec![b'x'; bytes], None, 5000).is_empty(), is_right);
        }
    }

    #[test]
    fn the_tail_is_as_short_as_it_can_be() {
        let check = check(r#"{"contains": "abc"}"#);
        let mut state = BodyState::default();
        check.feed(&mut state, b"xxxxab");
        assert_eq!(state.tail, b"ab");
        check.feed(&mut state, b"c");
        assert_eq!(check.finish(&state, None), Ok(()));
        check.feed(&mut state, b"yyyy");
        assert_eq!(state.tail.len(), 2);
    }
}
