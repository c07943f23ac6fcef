//! Checks bodies and lines against the expectation of a plan.

use super::error::ErrorKind;
use super::plan::Expect;
use super::text::{latin1_bytes, latin1_text, MAX_MESSAGE_BYTES};
use memchr::memmem;
use regex_lite::Regex;
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
    /// Of the first bodies of a shard.
    digest: Option<Box<Xxh3Default>>,
}

/// What a body begins with that gzip has compressed (RFC 1952, section 2.3.1).
const GZIP: &[u8] = b"\x1f\x8b";
/// So much of a wrong body is kept to be shown.
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
        if matches.is_some() && (equals.is_some() || contains.is_some()) {
            return Err("load: expect: `matches` stands alone, without equals and contains".into());
        }
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
        match matches && !state.differs && state.bytes == length {
            true => Ok(()),
            false => Err(ErrorKind::Content),
        }
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
            return format!("status {status} instead of {expected}{body}");
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
        match right {
            true => Ok(()),
            false => Err(ErrorKind::Status),
        }
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

    /// A check of an expectation that is possible.
    fn check(expect: &Expect) -> BodyCheck {
        BodyCheck::new(expect).unwrap()
    }

    #[test]
    fn patterns_match_the_whole() {
        let pattern = compile("a|b+").unwrap();
        assert!(pattern.is_match("bb") && !pattern.is_match("ab"));
        let error = compile("a[").unwrap_err();
        assert!(error.contains("matches: \"a[\": ") && error.contains("bracket"), "{error}");
        assert!(!error.contains('\n'));
    }

    #[test]
    fn bodies_in_any_pieces() {
        let expect = |equals: Option<&str>, contains: Option<&str>| {
            check(&Expect {
                equals: equals.map(str::to_owned),
                contains: contains.map(str::to_owned),
                ..Expect::default()
            })
        };
        let matches = check(&Expect { matches: Some(r"\.*2\d\d|\xff+".into()), ..Expect::default() });
        let run = |check: &BodyCheck, body: &[u8], step: usize| {
            let mut state = BodyState::default();
            body.chunks(step).for_each(|piece| check.feed(&mut state, piece));
            check.finish(&state, Some(200))
        };
        for step in 1..8 {
            let equals = expect(Some("55\n"), None);
            assert_eq!(run(&equals, b"55\n", step), Ok(()));
            for wrong in [&b"55"[..], b"55\n\n", b"", b"56\n"] {
                assert_eq!(run(&equals, wrong, step), Err(ErrorKind::Content));
            }
            let contains = expect(None, Some("aab"));
            assert_eq!(run(&contains, b"xaaaab", step), Ok(()));
            assert_eq!(run(&contains, b"xaaxab", step), Err(ErrorKind::Content));
            assert_eq!(run(&expect(None, Some("")), b"", step), Ok(()));
            for right in [&b"..200"[..], b"234", b"\xff\xff"] {
                assert_eq!(run(&matches, right, step), Ok(()));
            }
            for wrong in [&b".200."[..], b"", b"2345", b"\xff200"] {
                assert_eq!(run(&matches, wrong, step), Err(ErrorKind::Content));
            }
            assert_eq!(run(&expect(None, None), b"anything", step), Ok(()));
        }
        let long = vec![b'.'; MAX_MESSAGE_BYTES + 1];
        assert_eq!(run(&matches, &long, 5000), Err(ErrorKind::Content));
        let any = expect(None, None);
        assert_eq!(any.finish(&BodyState::default(), Some(500)), Err(ErrorKind::Status));
        assert_eq!(any.finish(&BodyState::default(), Some(302)), Ok(()));
    }

    #[test]
    fn differences_are_shown_however_the_body_was_cut() {
        let shown = |expect: Expect, body: &[u8], status: Option<u16>| {
            let check = check(&expect);
            let texts = [1, 3, 1000].map(|step| {
                let mut state = BodyState::default();
                body.chunks(step).for_each(|piece| check.feed(&mut state, piece));
                assert!(check.finish(&state, status).is_err());
                check.difference(&state, status)
            });
            assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
            texts[0].clone()
        };
        let equals = || Expect { equals: Some("6765\n".into()), ..Expect::default() };
        let with = |body: &[u8]| shown(equals(), body, Some(200));
        assert_eq!(with(b"6766\n"), r"'6766\n' instead of '6765\n'");
        assert_eq!(with(b"67"), r"'67' instead of '6765\n'");
        assert_eq!(with(b""), r"'' instead of '6765\n'");
        assert_eq!(with(b"6765\n!"), r"'6765\n!' instead of '6765\n'");
        assert_eq!(with(b"\x1b[2J"), r"'\u{1b}[2J' instead of '6765\n'");
        let long = with(&[b'9'; 100_000]);
        assert_eq!(long, format!(r"'{}…' instead of '6765\n'", "9".repeat(80)));
        let none = shown(equals(), b"6765\n", Some(500));
        assert_eq!(none, "status 500 instead of one from 200 to 399");
        let exact = Expect { status: Some(404), ..Expect::default() };
        let check = check(&exact);
        assert_eq!(shown(exact, b"", Some(200)), "status 200 instead of 404");
        let mut state = BodyState::default();
        state.show(b"\x1bno database");
        state.show(b", sorry");
        let text = check.difference(&state, Some(500));
        let expected = r"status 500 instead of 404, with the body '\u{1b}no database'";
        assert_eq!(text, expected);
        let contains = Expect { contains: Some("abc".into()), ..Expect::default() };
        let text = shown(contains, b"xxab", None);
        assert_eq!(text, "'xxab' instead of what contains 'abc'");
        let matches = Expect { matches: Some("[0-9]+".into()), ..Expect::default() };
        let text = shown(matches, b"12x", None);
        assert_eq!(text, "'12x' instead of what matches '[0-9]+'");
    }

    #[test]
    fn statuses() {
        let any = check(&Expect::default());
        for (status, right) in [(199, false), (200, true), (399, true), (400, false)] {
            assert_eq!(any.check_status(Some(status)).is_ok(), right, "{status}");
        }
        let exact = check(&Expect { status: Some(404), ..Expect::default() });
        assert_eq!(exact.check_status(Some(404)), Ok(()));
        assert_eq!(exact.check_status(Some(200)), Err(ErrorKind::Status));
        assert_eq!(exact.check_status(None), Ok(()));
    }

    #[test]
    fn a_body_is_checked_for_each_thing_that_is_expected_of_it() {
        let text = || Some("x".to_owned());
        for (equals, contains, matches) in [(text(), None, None), (None, text(), None), (None, None, text())]
        {
            let check = check(&Expect { status: Some(200), equals, contains, matches });
            assert!(!check.is_empty());
        }
        let status_alone = Expect { status: Some(200), ..Expect::default() };
        assert!(check(&status_alone).is_empty());
    }

    #[test]
    fn the_limit_of_a_matched_body() {
        assert_eq!(MAX_MESSAGE_BYTES, 65_536);
        let check = check(&Expect { matches: Some("x*".into()), ..Expect::default() });
        let mut state = BodyState::default();
        check.feed(&mut state, &vec![b'x'; MAX_MESSAGE_BYTES]);
        assert_eq!(state.bytes(), MAX_MESSAGE_BYTES);
        assert_eq!(check.finish(&state, None), Ok(()));
        check.feed(&mut state, b"x");
        assert_eq!(check.finish(&state, None), Err(ErrorKind::Content));
    }

    #[test]
    fn the_tail_is_as_short_as_it_can_be() {
        let check = check(&Expect { contains: Some("abc".into()), ..Expect::default() });
        let mut state = BodyState::default();
        check.feed(&mut state, b"xxxxab");
        assert_eq!(state.tail, b"ab");
        check.feed(&mut state, b"c");
        assert_eq!(check.finish(&state, None), Ok(()));
        check.feed(&mut state, b"yyyy");
        assert_eq!((state.tail.len(), state.bytes()), (2, 11));
    }
}
