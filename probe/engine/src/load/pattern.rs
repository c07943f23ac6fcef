//! Patterns that replies must match.

use regex_lite::Regex;

/// A pattern of bytes, as characters, that must match the whole.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// The error is one line.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let regex = Regex::new(&format!("^(?:{text})$")).map_err(|error| {
            let why = error.to_string();
            let last = why.lines().last().unwrap_or("not a pattern");
            format!("{text:?}: {}", last.trim_start_matches("error: "))
        })?;
        Ok(Pattern { text: text.into(), regex })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_whole() {
        let pattern = Pattern::new("a|b+").unwrap();
        assert!(pattern.is_match("bb") && !pattern.is_match("ab"));
        let error = Pattern::new("a[").unwrap_err();
        assert!(error.starts_with("\"a[\": ") && error.contains("bracket"), "{error}");
        assert!(!error.contains('\n'));
    }
}
