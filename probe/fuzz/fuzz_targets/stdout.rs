//! A program's stdout: any split gives what the whole gives, and no error can hold a control character.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trial::says::protocol_line::Parsed;
use std::collections::BTreeMap;
use trial::says::stdout::{StdoutParser, MAX_LINES};

/// The lines, those that start with each prefix, the hash, and the events.
type Output = (u64, BTreeMap<char, u64>, Option<String>, Vec<Parsed>);

fn read<'a>(mut parser: StdoutParser, pieces: impl Iterator<Item = &'a [u8]>) -> Output {
    let mut events = Vec::new();
    for piece in pieces {
        parser.feed(piece, &mut |event| events.push(event));
    }
    parser.finish(&mut |event| events.push(event));
    let hash = parser.hash().or_else(|| parser.plain_hash());
    (parser.total, parser.starting(), hash, events)
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    let parser = || match first & 1 {
        1 => StdoutParser::plain(),
        _ => StdoutParser::new(":*>→".chars(), true),
    };
    let whole = read(parser(), std::iter::once(data));
    assert_eq!(read(parser(), data.chunks(1)), whole);
    let (left, right) = data.split_at(usize::from(first).min(data.len()));
    assert_eq!(read(parser(), [left, right].into_iter()), whole);
    let (lines, _, _, events) = whole;
    assert!(lines <= data.len() as u64);
    assert!(events.len() as u64 <= MAX_LINES + 1);
    for why in events.iter().filter_map(|event| event.as_ref().err()) {
        assert!(!why.chars().any(char::is_control), "{why:?}");
        assert!(why.len() < 2000, "{why:?}");
    }
});
