//! Texts of a plan that stand for bytes.

/// The limit of a line, of a message of a stream, and of a body that a pattern must match.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// A byte for each character; None if a character is above U+00FF.
pub fn latin1_bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
}

/// A character for each byte.
pub fn latin1_text(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_bytes() {
        assert_eq!(latin1_bytes("aé\u{ff}"), Some(vec![b'a', 0xe9, 0xff]));
        assert_eq!(latin1_bytes("\u{100}"), None);
    }
}
