//! Texts of a plan that stand for bytes.

use regex::bytes::{Regex, RegexBuilder};

/// The limit of a line, of a message of a stream, and of a body that a pattern must match.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// A byte for each character; None where a character is above U+00FF.
pub fn latin1_bytes(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|character| u8::try_from(u32::from(character)).ok())
        .collect()
}

/// A pattern of bytes that must match the whole; the error in one line.
pub fn whole_pattern(text: &str) -> Result<Regex, String> {
    let whole = format!("^(?:{text})$");
    let regex = RegexBuilder::new(&whole).unicode(false).build();
    regex.map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or("not a pattern");
        format!("{text:?}: {}", last.trim_start_matches("error: "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_bytes() {
        assert_eq!(latin1_bytes("aé\u{ff}"), Some(vec![b'a', 0xe9, 0xff]));
        assert_eq!(latin1_bytes("\u{100}"), None);
    }

    #[test]
    fn patterns_match_the_whole() {
        let pattern = whole_pattern("a|b+").unwrap();
        assert!(pattern.is_match(b"bb") && !pattern.is_match(b"ab"));
        let error = whole_pattern("a[").unwrap_err();
        assert!(error.starts_with("\"a[\": unclosed"), "{error}");
        assert!(!error.contains('\n'));
    }
}
