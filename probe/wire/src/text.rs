//! Untrusted text, made safe to print.

/// How much of a text is shown.
const MAX_CHARS: usize = 80;

/// For `map_err`: what failed, and why.
pub fn failed<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String + '_ {
    move |error| format!("{what}: {error}")
}

/// The start of bytes in quotes, as `quoted`.
pub fn quoted_bytes(bytes: &[u8]) -> String {
    // A character has four bytes at most; one more shows that there is more.
    let start = &bytes[..bytes.len().min(4 * (MAX_CHARS + 1))];
    quoted(&String::from_utf8_lossy(start))
}

/// The start of a text in quotes: one short line without control characters.
pub fn quoted(text: &str) -> String {
    let start = text.chars().take(MAX_CHARS);
    let mut escaped: String = start.flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        escaped.push('…');
    }
    format!("'{escaped}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_becomes_one_short_line() {
        assert_eq!(quoted("a\u{1b}[2J\n"), r"'a\u{1b}[2J\n'");
        assert_eq!(quoted(&"x".repeat(80)), format!("'{}'", "x".repeat(80)));
        assert_eq!(quoted(&"x".repeat(81)), format!("'{}…'", "x".repeat(80)));
        assert_eq!(quoted_bytes(b"a\xff\n"), "'a\u{fffd}\\n'");
        let long = "é".repeat(5000);
        assert_eq!(quoted_bytes(long.as_bytes()), format!("'{}…'", "é".repeat(80)));
    }
}
