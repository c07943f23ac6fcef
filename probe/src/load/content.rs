//! Checks of what came back: a body or a line against what is expected, and the messages of a stream.

use super::plan::{bytes_of, Expect, Framing, StreamPlan};
use super::record::{Kind, Sequence};
use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};

/// A message of a stream, or a line, may be as long as this.
pub const MOST_MESSAGE_BYTES: usize = 64 * 1024;
/// Early by less is the clock's grain and the network's jitter.
const EARLY_NS: u64 = 1_000_000;

/// What a body must be.
#[derive(Debug, Default)]
pub struct Check {
    status: Option<u16>,
    equals: Option<Vec<u8>>,
    contains: Option<Vec<u8>>,
    matches: Option<Regex>,
}

/// How far one body has been checked.
#[derive(Debug, Default)]
pub struct Checked {
    seen: usize,
    differs: bool,
    found: bool,
    /// The end of what was seen, where the text that it must contain may have begun; all of it where
    /// it must match a pattern.
    tail: Vec<u8>,
}

impl Checked {
    /// Bytes so far.
    pub fn seen(&self) -> usize {
        self.seen
    }
}

impl Check {
    pub fn new(expect: &Expect) -> Check {
        Check {
            status: expect.status,
            equals: expect.equals.as_deref().and_then(bytes_of),
            contains: expect.contains.as_deref().and_then(bytes_of),
            matches: expect
                .matches
                .as_deref()
                .and_then(|text| pattern(text).ok()),
        }
    }

    pub fn feed(&self, checked: &mut Checked, bytes: &[u8]) {
        if let Some(equals) = &self.equals {
            let rest = equals.get(checked.seen..).unwrap_or(&[]);
            checked.differs |= !rest.starts_with(bytes);
        }
        checked.seen += bytes.len();
        if self.matches.is_some() {
            let room = MOST_MESSAGE_BYTES.saturating_sub(checked.tail.len());
            checked.differs |= bytes.len() > room;
            checked
                .tail
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
            return;
        }
        if let Some(contains) = self.contains.as_ref().filter(|_| !checked.found) {
            checked.tail.extend_from_slice(bytes);
            checked.found = memmem::find(&checked.tail, contains).is_some();
            let kept = contains.len().saturating_sub(1).min(checked.tail.len());
            checked.tail.drain(..checked.tail.len() - kept);
        }
    }

    /// At the end of a body: what is wrong with it.
    pub fn end(&self, checked: &Checked, status: Option<u16>) -> Result<(), Kind> {
        let good = match (self.status, status) {
            (_, None) => true,
            (Some(expected), Some(status)) => status == expected,
            (None, Some(status)) => (200..400).contains(&status),
        };
        if !good {
            return Err(Kind::Status);
        }
        let length = self.equals.as_ref().map_or(checked.seen, Vec::len);
        let found = match (&self.matches, &self.contains) {
            (Some(pattern), _) => pattern.is_match(&checked.tail),
            (None, Some(_)) => checked.found,
            (None, None) => true,
        };
        match checked.differs || checked.seen != length || !found {
            true => Err(Kind::Content),
            false => Ok(()),
        }
    }
}

/// A pattern of bytes that must match the whole; the error in one line.
pub fn pattern(text: &str) -> Result<Regex, String> {
    let whole = format!("^(?:{text})$");
    let built = RegexBuilder::new(&whole).unicode(false).build();
    built.map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or("not a pattern");
        format!("{text:?}: {}", last.trim_start_matches("error: "))
    })
}

/// A text with `{k}` and `{id}` in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Number,
    Id,
}

impl Template {
    pub fn parse(text: &str) -> Template {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let next = [("{k}", Part::Number), ("{id}", Part::Id)]
                .into_iter()
                .filter_map(|(name, part)| rest.find(name).map(|at| (at, name.len(), part)))
                .min_by_key(|(at, ..)| *at);
            let (at, length, part) = match next {
                Some((at, length, part)) => (at, length, Some(part)),
                None => (rest.len(), 0, None),
            };
            if at > 0 {
                parts.push(Part::Text(rest.as_bytes()[..at].to_vec()));
            }
            parts.extend(part);
            rest = &rest[at + length..];
        }
        Template(parts)
    }

    /// The number and the id of a message of this form; each None where the form has none.
    pub fn read(&self, mut message: &[u8]) -> Option<(Option<u64>, Option<u64>)> {
        let (mut k, mut id) = (None, None);
        for part in &self.0 {
            match part {
                Part::Text(text) => message = message.strip_prefix(text.as_slice())?,
                Part::Number | Part::Id => {
                    let end = message.iter().position(|byte| !byte.is_ascii_digit());
                    let (digits, rest) = message.split_at(end.unwrap_or(message.len()));
                    if digits.len() > 1 && digits[0] == b'0' {
                        return None;
                    }
                    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
                    match part {
                        Part::Number => k = Some(number),
                        _ => id = Some(number),
                    }
                    message = rest;
                }
            }
        }
        message.is_empty().then_some((k, id))
    }
}

/// What the messages of all streams must be.
#[derive(Debug)]
pub struct Form {
    framing: Framing,
    first: Option<Template>,
    chunk: Option<Template>,
    interval_ns: Option<u64>,
    due_field: Option<Vec<u8>>,
}

/// How far one stream has come.
#[derive(Debug, Default)]
pub struct Stream {
    held: Vec<u8>,
    /// Messages so far, the first among them.
    count: u64,
    last: u64,
    /// When its request was sent: nothing can be due before.
    sent_ns: u64,
    /// From when intervals count: the earliest instant at which the first message can have been sent.
    base_ns: u64,
}

/// What a message told.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// By how much it came too late; None where nothing says when it was due.
    pub late_ns: Option<u64>,
}

impl Form {
    pub fn new(plan: &StreamPlan) -> Form {
        let template = |text: &Option<String>| text.as_deref().map(Template::parse);
        Form {
            framing: plan.framing,
            first: template(&plan.first),
            chunk: template(&plan.chunk),
            interval_ns: plan.interval_s.map(super::plan::nanoseconds),
            due_field: plan.due_field.as_ref().map(|text| text.as_bytes().to_vec()),
        }
    }

    /// A stream whose request was sent at a time.
    pub fn begin(&self, sent_ns: u64) -> Stream {
        Stream {
            sent_ns,
            base_ns: sent_ns,
            ..Stream::default()
        }
    }

    /// How many chunks a stream has had, and how many more were due at a time.
    pub fn account(&self, stream: &Stream, now_ns: u64) -> (u64, u64) {
        let first = u64::from(self.first.is_some());
        let had = stream.count.saturating_sub(first);
        let due = match self.interval_ns {
            Some(interval_ns) if stream.count >= first => {
                now_ns.saturating_sub(stream.base_ns) / interval_ns.max(1)
            }
            _ => had,
        };
        (had, due.saturating_sub(had))
    }

    /// Reads a part of a body; whole messages go to `message`.
    pub fn feed(
        &self,
        stream: &mut Stream,
        bytes: &[u8],
        last: bool,
        message: &mut impl FnMut(&mut Stream, &[u8]),
    ) -> Result<(), Kind> {
        match self.framing {
            Framing::Chunk if last && stream.held.is_empty() => {
                message(stream, bytes.strip_suffix(b"\n").unwrap_or(bytes));
            }
            Framing::Chunk => {
                hold(stream, bytes)?;
                if last {
                    let held = std::mem::take(&mut stream.held);
                    message(stream, held.strip_suffix(b"\n").unwrap_or(&held));
                }
            }
            Framing::Line => {
                let mut lines = bytes.split(|&byte| byte == b'\n').peekable();
                while let Some(line) = lines.next() {
                    if lines.peek().is_none() {
                        hold(stream, line)?;
                    } else if stream.held.is_empty() {
                        message(stream, line);
                    } else {
                        hold(stream, line)?;
                        let held = std::mem::take(&mut stream.held);
                        message(stream, &held);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks a message of the stream `id` that came at a time.
    pub fn check(
        &self,
        stream: &mut Stream,
        message: &[u8],
        id: u64,
        now_ns: u64,
        found: &mut Sequence,
    ) -> Told {
        stream.count += 1;
        let is_first = stream.count == 1 && self.first.is_some();
        if is_first {
            stream.base_ns = now_ns;
        }
        let template = if is_first { &self.first } else { &self.chunk };
        let mut k = stream.count - u64::from(self.first.is_some());
        if let Some(template) = template {
            match template.read(message) {
                None => found.malformed += 1,
                Some((_, Some(other))) if other != id => {
                    found.foreign += 1;
                    return Told::default();
                }
                Some((Some(number), _)) => {
                    k = number;
                    if number > stream.last {
                        found.gaps += number - stream.last - 1;
                        stream.last = number;
                    } else if number == stream.last {
                        found.repeats += 1;
                    } else {
                        found.swaps += 1;
                    }
                }
                Some((None, _)) => {}
            }
        }
        let mut earliest_ns = None;
        let due_ns = match (&self.due_field, self.interval_ns) {
            (Some(field), _) => {
                earliest_ns = due_of(message, field);
                earliest_ns
            }
            (None, Some(interval_ns)) if !is_first => {
                let after_ns = k.saturating_mul(interval_ns);
                earliest_ns = Some(stream.sent_ns.saturating_add(after_ns));
                // The first message was read some time after it was sent. Where a later one shows that,
                // intervals count from the earlier instant.
                let shown_ns = now_ns.saturating_sub(after_ns).max(stream.sent_ns);
                stream.base_ns = stream.base_ns.min(shown_ns);
                Some(stream.base_ns.saturating_add(after_ns))
            }
            _ => None,
        };
        if earliest_ns.map_or(false, |at_ns| now_ns + EARLY_NS < at_ns) {
            found.early += 1;
        }
        Told {
            late_ns: due_ns.map(|due_ns| now_ns.saturating_sub(due_ns)),
        }
    }
}

fn hold(stream: &mut Stream, bytes: &[u8]) -> Result<(), Kind> {
    if stream.held.len() + bytes.len() > MOST_MESSAGE_BYTES {
        return Err(Kind::TooLarge);
    }
    stream.held.extend_from_slice(bytes);
    Ok(())
}

fn due_of(message: &[u8], field: &[u8]) -> Option<u64> {
    let rest = &message[memmem::find(message, field)? + field.len()..];
    let end = rest.iter().position(|byte| !byte.is_ascii_digit());
    let digits = &rest[..end.unwrap_or(rest.len())];
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_in_any_pieces() {
        let expect = |equals: Option<&str>, contains: Option<&str>| {
            Check::new(&Expect {
                equals: equals.map(str::to_owned),
                contains: contains.map(str::to_owned),
                ..Expect::default()
            })
        };
        let matches = Check::new(&Expect {
            matches: Some(r"\.*2\d\d|\xff+".into()),
            ..Expect::default()
        });
        let run = |check: &Check, body: &[u8], step: usize| {
            let mut checked = Checked::default();
            body.chunks(step)
                .for_each(|piece| check.feed(&mut checked, piece));
            check.end(&checked, Some(200))
        };
        for step in 1..8 {
            let equals = expect(Some("55\n"), None);
            assert_eq!(run(&equals, b"55\n", step), Ok(()));
            for wrong in [&b"55"[..], b"55\n\n", b"", b"56\n"] {
                assert_eq!(run(&equals, wrong, step), Err(Kind::Content));
            }
            let contains = expect(None, Some("aab"));
            assert_eq!(run(&contains, b"xaaaab", step), Ok(()));
            assert_eq!(run(&contains, b"xaaxab", step), Err(Kind::Content));
            for right in [&b"..200"[..], b"234", b"\xff\xff"] {
                assert_eq!(run(&matches, right, step), Ok(()));
            }
            for wrong in [&b".200."[..], b"", b"2345", b"\xff200"] {
                assert_eq!(run(&matches, wrong, step), Err(Kind::Content));
            }
            assert_eq!(run(&expect(None, None), b"anything", step), Ok(()));
        }
        let long = vec![b'.'; MOST_MESSAGE_BYTES + 1];
        assert_eq!(run(&matches, &long, 5000), Err(Kind::Content));
        let any = expect(None, None);
        assert_eq!(any.end(&Checked::default(), Some(500)), Err(Kind::Status));
        assert_eq!(any.end(&Checked::default(), Some(302)), Ok(()));
    }

    #[test]
    fn templates() {
        let chunk = Template::parse("Chunk {k} for {id}");
        assert_eq!(chunk.read(b"Chunk 3 for 12"), Some((Some(3), Some(12))));
        for wrong in [
            "Chunk 03 for 12",
            "Chunk  for 12",
            "Chunk -3 for 12",
            "Chunk 3 for 12 ",
            "Chunk 3 for",
        ] {
            assert_eq!(chunk.read(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(chunk.read(b"Chunk 99999999999999999999999 for 1"), None);
        assert_eq!(Template::parse("").read(b""), Some((None, None)));
        assert_eq!(Template::parse("{id}").read(b"7"), Some((None, Some(7))));
    }

    fn form(framing: Framing, due_field: Option<&str>) -> Form {
        Form::new(&StreamPlan {
            framing,
            first: Some("Welcome: {id}".into()),
            chunk: Some("Chunk {k} for {id}".into()),
            interval_s: Some(1.0),
            due_field: due_field.map(str::to_owned),
            ..StreamPlan::default()
        })
    }

    #[test]
    fn sequences() {
        let form = form(Framing::Chunk, None);
        let second = 1_000_000_000;
        let mut stream = form.begin(second - 7);
        let mut found = Sequence::default();
        let mut at = |message: &str, now: u64| {
            form.check(&mut stream, message.as_bytes(), 7, now, &mut found)
                .late_ns
        };
        assert_eq!(at("Welcome: 7", second), None);
        assert_eq!(at("Chunk 1 for 7", 2 * second + 5), Some(5));
        assert_eq!(at("Chunk 1 for 7", 2 * second + 6), Some(6));
        assert_eq!(at("Chunk 4 for 7", 5 * second), Some(0));
        assert_eq!(at("Chunk 3 for 7", 5 * second), Some(second));
        assert_eq!(at("Chunk 5 for 8", 6 * second), None);
        assert_eq!(at("Chunk 5 for 7", 5 * second), Some(0));
        at("Chunk five", 7 * second);
        let right = Sequence {
            gaps: 2,
            repeats: 1,
            swaps: 1,
            foreign: 1,
            malformed: 1,
            early: 1,
        };
        // The malformed one counts as the ninth message, which is due later than it came.
        assert_eq!(Sequence { early: 1, ..found }, right);
    }

    #[test]
    fn messages_by_chunk_and_by_line_in_any_pieces() {
        let text = b"Welcome: 1\nChunk 1 for 1\nChunk 2 for 1\n";
        for step in 1..=text.len() {
            let form = form(Framing::Line, None);
            let (mut stream, mut seen) = (form.begin(0), Vec::new());
            for piece in text.chunks(step) {
                let mut take = |_: &mut Stream, one: &[u8]| seen.push(one.to_vec());
                form.feed(&mut stream, piece, false, &mut take).unwrap();
            }
            assert_eq!(seen.join(&b'\n'), text[..text.len() - 1]);
        }
        let form = form(Framing::Chunk, None);
        let (mut stream, mut seen) = (form.begin(0), Vec::new());
        let pieces: [(&[u8], bool); 4] = [
            (b"ab\n", true),
            (b"c", false),
            (b"d", false),
            (b"e\n", true),
        ];
        for (piece, last) in pieces {
            let mut take = |_: &mut Stream, one: &[u8]| seen.push(one.to_vec());
            form.feed(&mut stream, piece, last, &mut take).unwrap();
        }
        assert_eq!(seen, [b"ab".to_vec(), b"cde".to_vec()]);
        let bomb = vec![b'x'; MOST_MESSAGE_BYTES + 1];
        let mut nobody = |_: &mut Stream, _: &[u8]| {};
        assert_eq!(
            form.feed(&mut stream, &bomb, false, &mut nobody),
            Err(Kind::TooLarge)
        );
    }

    #[test]
    fn the_server_may_say_when_it_was_due() {
        let form = form(Framing::Line, Some("due="));
        let mut found = Sequence::default();
        let mut stream = form.begin(0);
        let told = form.check(&mut stream, b"x due=100 y", 1, 150, &mut found);
        assert_eq!(told.late_ns, Some(50));
        assert_eq!(
            form.check(&mut stream, b"x due=", 1, 150, &mut found)
                .late_ns,
            None
        );
    }
}
