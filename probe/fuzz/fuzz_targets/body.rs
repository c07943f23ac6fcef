//! A body is right or wrong however it was cut, and what is shown of a wrong one does not depend on it either.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::body::{BodyCheck, BodyState};
use engine::load::plan::Expect;

const PATTERNS: [&str; 4] = [r"\.*2\d\d|\xff+", "a*b?", "(?s).*end", "[^x]{3,}"];

/// Whether it is right, and what is wrong with it otherwise.
fn checked<'a>(check: &BodyCheck, pieces: impl Iterator<Item = &'a [u8]>) -> (bool, usize, String) {
    let mut state = BodyState::default();
    pieces.for_each(|piece| check.feed(&mut state, piece));
    let is_right = check.finish(&state, Some(200)).is_ok();
    let difference = if is_right { String::new() } else { check.difference(&state, Some(200)) };
    assert!(!difference.contains(char::is_control), "{difference:?}");
    (is_right, state.bytes(), difference)
}

fuzz_target!(|data: &[u8]| {
    let [kind, cut, length, rest @ ..] = data else { return };
    let (expected, body) = rest.split_at(usize::from(*length).min(rest.len()));
    // A character for each byte.
    let text = || Some(expected.iter().map(|&byte| char::from(byte)).collect::<String>());
    let mut expect = Expect::default();
    match kind % 4 {
        0 => expect.equals = text(),
        1 => expect.contains = text(),
        2 => (expect.equals, expect.contains) = (text(), text()),
        _ => expect.matches = Some(PATTERNS[usize::from(kind / 4) % PATTERNS.len()].into()),
    }
    let check = BodyCheck::new(&expect).expect("it is possible");
    let whole = checked(&check, std::iter::once(body));
    assert_eq!(checked(&check, body.chunks(1)), whole);
    let (left, right) = body.split_at(usize::from(*cut).min(body.len()));
    assert_eq!(checked(&check, [left, right].into_iter()), whole);
    assert_eq!(whole.1, body.len());
    let right = match kind % 4 {
        0 | 2 => Some(body == expected),
        1 => Some(expected.is_empty() || body.windows(expected.len()).any(|window| window == expected)),
        _ => None,
    };
    assert_eq!(right.unwrap_or(whole.0), whole.0);
});
