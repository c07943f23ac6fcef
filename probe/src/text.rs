//! Untrusted text, made safe to print.

/// The start of a text in quotes: one short line without control characters.
pub fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 80;
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
    }
}
