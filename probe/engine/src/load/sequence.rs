//! Checks the messages of held streams: their numbers, ids and times.

use super::placeholder::{Piece, Pieces};
use super::plan::StreamPlan;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use wire::units::nanoseconds;

/// How much earlier than due a message may arrive: the grain of clocks and the jitter of the network.
const EARLY_TOLERANCE_NS: u64 = 1_000_000;

/// The required form of the messages of all streams.
#[derive(Clone, Debug)]
pub struct StreamFormat {
    first: Option<Pieces>,
    chunk: Option<Pieces>,
    interval_ns: Option<u64>,
    due_field: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub struct StreamState {
    /// Messages so far, including the first.
    count: u64,
    /// The highest number so far.
    last: u64,
    /// When its request was sent: no message is due before.
    sent_ns: u64,
    /// From when intervals count: the earliest instant at which the first message may have been sent.
    base_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedMessage {
    /// By how much it was late; None if its due time is not known.
    pub late_ns: Option<u64>,
    /// The fault of its number or its text, and how often it counts: a gap counts once for each skipped number.
    pub fault: Option<(SequenceFault, u64)>,
    pub is_early: bool,
}

/// A fault in the sequence of a stream's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SequenceFault {
    /// Numbers were skipped.
    Gaps,
    Repeats,
    /// The number is lower than the one before.
    Swaps,
    /// The message belongs to another connection.
    Foreign,
    Malformed,
    Early,
}

impl fmt::Display for SequenceFault {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl StreamFormat {
    pub fn new(plan: &StreamPlan) -> StreamFormat {
        let template = |text: &Option<String>| text.as_deref().map(template);
        StreamFormat {
            first: template(&plan.first),
            chunk: template(&plan.chunk),
            interval_ns: plan.interval_s.map(nanoseconds),
            due_field: plan.due_field.as_ref().map(|text| text.as_bytes().to_vec()),
        }
    }

    /// A stream whose request was sent at `sent_ns`.
    pub fn begin(&self, sent_ns: u64) -> StreamState {
        StreamState { sent_ns, base_ns: sent_ns, ..StreamState::default() }
    }

    /// How many chunks have arrived on a stream, and how many more were due at `now_ns`.
    pub fn received_and_behind(&self, stream: &StreamState, now_ns: u64) -> (u64, u64) {
        let first = u64::from(self.first.is_some());
        let received = stream.count.saturating_sub(first);
        let due = match self.interval_ns {
            Some(interval_ns) if stream.count >= first => {
                now_ns.saturating_sub(stream.base_ns) / interval_ns.max(1)
            }
            _ => received,
        };
        (received, due.saturating_sub(received))
    }

    /// Checks a message of the stream `id` that arrived at `now_ns`.
    pub fn check(&self, stream: &mut StreamState, message: &[u8], id: u64, now_ns: u64) -> CheckedMessage {
        stream.count += 1;
        let is_first = stream.count == 1 && self.first.is_some();
        if is_first {
            stream.base_ns = now_ns;
        }
        let template = if is_first { &self.first } else { &self.chunk };
        let mut k = stream.count - u64::from(self.first.is_some());
        let mut fault = None;
        if let Some(template) = template {
            match numbers_in(message, template) {
                None => fault = Some((SequenceFault::Malformed, 1)),
                Some((_, Some(other))) if other != id => {
                    fault = Some((SequenceFault::Foreign, 1));
                    return CheckedMessage { fault, ..CheckedMessage::default() };
                }
                Some((Some(number), _)) => {
                    k = number;
                    fault = stream.follow(number);
                }
                Some((None, _)) => {}
            }
        }
        let mut earliest_ns = None;
        let due_ns = match (&self.due_field, self.interval_ns) {
            (Some(field), _) => {
                earliest_ns = parse_due(message, field);
                earliest_ns
            }
            (None, Some(interval_ns)) if !is_first => {
                let after_ns = k.saturating_mul(interval_ns);
                earliest_ns = Some(stream.sent_ns.saturating_add(after_ns));
                // The first message was read some time after it was sent. A later message may show how early that was:
                // intervals then count from the earlier instant.
                let shown_ns = now_ns.saturating_sub(after_ns).max(stream.sent_ns);
                stream.base_ns = stream.base_ns.min(shown_ns);
                Some(stream.base_ns.saturating_add(after_ns))
            }
            _ => None,
        };
        CheckedMessage {
            late_ns: due_ns.map(|due_ns| now_ns.saturating_sub(due_ns)),
            fault,
            is_early: earliest_ns.is_some_and(|at_ns| now_ns + EARLY_TOLERANCE_NS < at_ns),
        }
    }
}

impl StreamState {
    /// Advances to the number of a message.
    fn follow(&mut self, number: u64) -> Option<(SequenceFault, u64)> {
        match number.cmp(&self.last) {
            Ordering::Less => Some((SequenceFault::Swaps, 1)),
            Ordering::Equal => Some((SequenceFault::Repeats, 1)),
            Ordering::Greater => {
                let skipped = number - self.last - 1;
                self.last = number;
                (skipped > 0).then_some((SequenceFault::Gaps, skipped))
            }
        }
    }
}

/// A text with the placeholders `{k}` (the message's number) and `{id}` (the connection's).
fn template(text: &str) -> Pieces {
    let pieces = Pieces::parse(text.as_bytes(), false, &|name| {
        Ok(match name {
            "k" => Some(Piece::Number),
            "id" => Some(Piece::Id),
            _ => None,
        })
    });
    // Other names are text: there is nothing to refuse.
    pieces.unwrap_or_default()
}

/// The number and the id in a message, each None if the template has none; None if the message does not match it.
fn numbers_in(mut message: &[u8], template: &Pieces) -> Option<(Option<u64>, Option<u64>)> {
    let (mut k, mut id) = (None, None);
    for piece in &template.0 {
        if let Piece::Text(text) = piece {
            message = message.strip_prefix(text.as_slice())?;
            continue;
        }
        let end = message.iter().position(|byte| !byte.is_ascii_digit());
        let (digits, rest) = message.split_at(end.unwrap_or(message.len()));
        if digits.len() > 1 && digits[0] == b'0' {
            return None;
        }
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        match piece {
            Piece::Number => k = Some(number),
            _ => id = Some(number),
        }
        message = rest;
    }
    message.is_empty().then_some((k, id))
}

fn parse_due(message: &[u8], field: &[u8]) -> Option<u64> {
    let rest = &message[memmem::find(message, field)? + field.len()..];
    let end = rest.iter().position(|byte| !byte.is_ascii_digit());
    let digits = &rest[..end.unwrap_or(rest.len())];
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream_format(due_field: Option<&str>) -> StreamFormat {
        StreamFormat::new(&StreamPlan {
            first: Some("Welcome: {id}".into()),
            chunk: Some("Chunk {k} for {id}".into()),
            interval_s: Some(1.0),
            due_field: due_field.map(str::to_owned),
            ..StreamPlan::default()
        })
    }

    #[test]
    fn messages_match_their_template() {
        let numbers = |text: &str, message: &str| numbers_in(message.as_bytes(), &template(text));
        let chunk = "Chunk {k} for {id}";
        assert_eq!(numbers(chunk, "Chunk 3 for 12"), Some((Some(3), Some(12))));
        for wrong in ["Chunk 03 for 12", "Chunk  for 12", "Chunk -3 for 12", "Chunk 3 for 12 ", "Chunk 3 for"]
        {
            assert_eq!(numbers(chunk, wrong), None, "{wrong}");
        }
        assert_eq!(numbers(chunk, "Chunk 99999999999999999999999 for 1"), None);
        assert_eq!(numbers("", ""), Some((None, None)));
        assert_eq!(numbers("{id}", "7"), Some((None, Some(7))));
        assert_eq!(numbers("{k}:{id}", "0:10"), Some((Some(0), Some(10))));
        assert_eq!(numbers("{k}:{id}", "1:2:3"), None);
        assert_eq!(numbers("{id}-{k}{x}", "5-6{x}"), Some((Some(6), Some(5))));
        assert_eq!(numbers("plain", "plain"), Some((None, None)));
    }

    #[test]
    fn sequences() {
        let format = stream_format(None);
        let second = 1_000_000_000;
        let mut stream = format.begin(second - 7);
        let (mut faults, mut early) = (Vec::new(), 0);
        let mut at = |message: &str, now: u64| {
            let message = format.check(&mut stream, message.as_bytes(), 7, now);
            faults.extend(message.fault);
            early += u64::from(message.is_early);
            message.late_ns
        };
        assert_eq!(at("Welcome: 7", second), None);
        assert_eq!(at("Chunk 1 for 7", 2 * second + 5), Some(5));
        assert_eq!(at("Chunk 1 for 7", 2 * second + 6), Some(6));
        assert_eq!(at("Chunk 4 for 7", 5 * second), Some(0));
        assert_eq!(at("Chunk 3 for 7", 5 * second), Some(second));
        assert_eq!(at("Chunk 5 for 8", 6 * second), None);
        assert_eq!(at("Chunk 5 for 7", 5 * second), Some(0));
        at("Chunk five", 7 * second);
        // Early: a chunk before its due time, and the malformed message, which counts as the ninth.
        let right = [
            (SequenceFault::Repeats, 1),
            (SequenceFault::Gaps, 2),
            (SequenceFault::Swaps, 1),
            (SequenceFault::Foreign, 1),
            (SequenceFault::Malformed, 1),
        ];
        assert_eq!((faults, early), (right.to_vec(), 2));
        let far = (SequenceFault::Gaps, u64::MAX - 6);
        assert_eq!(stream.follow(u64::MAX), Some(far));
    }

    #[test]
    fn a_message_may_hold_its_due_time() {
        let format = stream_format(Some("due="));
        let mut stream = format.begin(0);
        let message = format.check(&mut stream, b"x due=100 y", 1, 150);
        assert_eq!(message.late_ns, Some(50));
        let message = format.check(&mut stream, b"x due=", 1, 150);
        assert_eq!(message.late_ns, None);
    }

    #[test]
    fn chunks_that_are_due_and_not_received() {
        let format = stream_format(None);
        let second = 1_000_000_000;
        let mut stream = format.begin(0);
        // Without the first message, none is due.
        assert_eq!(format.received_and_behind(&stream, 9 * second), (0, 0));
        format.check(&mut stream, b"Welcome: 7", 7, second);
        assert_eq!(format.received_and_behind(&stream, 3 * second), (0, 2));
        format.check(&mut stream, b"Chunk 1 for 7", 7, 2 * second);
        assert_eq!(format.received_and_behind(&stream, 4 * second), (1, 2));
        assert_eq!(format.received_and_behind(&stream, second), (1, 0));
        let plain = StreamFormat::new(&StreamPlan::default());
        let mut stream = plain.begin(0);
        plain.check(&mut stream, b"a", 1, 5);
        plain.check(&mut stream, b"b", 1, 6);
        assert_eq!(plain.received_and_behind(&stream, 9 * second), (2, 0));
    }

    #[test]
    fn chunks_before_their_time_are_early() {
        let format = StreamFormat::new(&StreamPlan { interval_s: Some(1.0), ..StreamPlan::default() });
        let due = 1_000_000_000;
        for (now, early) in
            [(due - EARLY_TOLERANCE_NS - 1, true), (due - EARLY_TOLERANCE_NS, false), (due, false)]
        {
            let message = format.check(&mut format.begin(0), b"x", 1, now);
            assert_eq!(message.is_early, early, "{now}");
            assert_eq!((message.late_ns, message.fault), (Some(0), None));
        }
        let late = format.check(&mut format.begin(7), b"x", 1, due + 10);
        assert_eq!(late.late_ns, Some(3));
    }

    #[test]
    fn messages_without_numbers_are_due_in_their_order() {
        let second = 1_000_000_000;
        for first in [Some("Welcome".to_owned()), None] {
            let format = StreamFormat::new(&StreamPlan {
                interval_s: Some(1.0),
                first: first.clone(),
                ..StreamPlan::default()
            });
            let mut stream = format.begin(second);
            if first.is_some() {
                assert_eq!(format.check(&mut stream, b"Welcome", 7, second).late_ns, None);
            }
            for k in 1..4 {
                let message = format.check(&mut stream, b"x", 7, (k + 1) * second + 5 * k);
                assert_eq!(message.late_ns, Some(5 * k));
            }
        }
    }

    #[test]
    fn due_times_are_digits_after_the_field() {
        assert_eq!(parse_due(b"a due=12", b"due="), Some(12));
        assert_eq!(parse_due(b"due=3 due=4", b"due="), Some(3));
        assert_eq!(parse_due(b"due=-3", b"due="), None);
        assert_eq!(parse_due(b"12", b"due="), None);
    }
}
