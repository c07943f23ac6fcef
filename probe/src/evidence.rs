//! Whether the trial did what was expected: pure, from what was seen to a reason.

use crate::request::Expect;
use std::collections::BTreeMap;

/// What the program's stdout held, protocol lines apart.
#[derive(Debug, Default)]
pub struct Seen {
    pub result: Option<BTreeMap<String, String>>,
    pub lines: u64,
    pub starting: BTreeMap<char, u64>,
    /// SHA-256 of all of them, where it is expected.
    pub hash: Option<String>,
}

/// The first thing that is not as expected.
pub fn check(expect: &Expect, seen: &Seen) -> Result<(), String> {
    if !expect.result.is_empty() {
        let result = seen.result.as_ref().ok_or("there was no ::result line")?;
        for (key, expected) in &expect.result {
            match result.get(key) {
                Some(value) if value == expected => {}
                Some(value) => {
                    return Err(format!(
                        "{key} is {}, expected {}",
                        quoted(value),
                        quoted(expected)
                    ))
                }
                None => return Err(format!("::result has no {key}")),
            }
        }
    }
    if let Some(lines) = &expect.lines {
        if let Some(total) = lines.total.filter(|&total| total != seen.lines) {
            return Err(format!("{} lines, expected {total}", seen.lines));
        }
        if let Some(expected) = lines.sha256.as_ref() {
            if seen.hash.as_ref() != Some(expected) {
                let found = seen.hash.as_deref().unwrap_or("unknown");
                let lines = seen.lines;
                return Err(format!(
                    "the hash of the {lines} lines is {found}, expected {}",
                    quoted(expected)
                ));
            }
        }
        for (prefix, &expected) in &lines.starting {
            let count = seen.starting.get(prefix).copied().unwrap_or(0);
            if count != expected {
                return Err(format!(
                    "{count} lines start with {prefix:?}, expected {expected}"
                ));
            }
        }
    }
    Ok(())
}

/// Foreign text as a short piece of one line, without control characters.
pub fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    let mut shown: String = text
        .chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ExpectLines;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |&(key, value): &(&str, &str)| (key.to_string(), value.to_string());
        pairs.iter().map(own).collect()
    }

    fn expect() -> Expect {
        Expect {
            result: map(&[("checksum", "21")]),
            lines: Some(ExpectLines {
                total: Some(3),
                starting: [(':', 2)].into(),
                sha256: Some("12ab".into()),
            }),
        }
    }

    fn seen() -> Seen {
        Seen {
            result: Some(map(&[("checksum", "21"), ("more", "1")])),
            lines: 3,
            starting: [(':', 2), ('*', 1)].into(),
            hash: Some("12ab".into()),
        }
    }

    #[test]
    fn as_expected() {
        assert_eq!(check(&expect(), &seen()), Ok(()));
        assert_eq!(check(&Expect::default(), &Seen::default()), Ok(()));
    }

    #[test]
    fn each_way_to_be_wrong() {
        let wrong = |change: fn(&mut Seen), reason: &str| {
            let mut seen = seen();
            change(&mut seen);
            assert_eq!(check(&expect(), &seen).unwrap_err(), reason);
        };
        wrong(|seen| seen.result = None, "there was no ::result line");
        wrong(
            |seen| seen.result = Some(map(&[("a", "b")])),
            "::result has no checksum",
        );
        wrong(
            |seen| seen.result = Some(map(&[("checksum", "21.0")])),
            "checksum is '21.0', expected '21'",
        );
        wrong(|seen| seen.lines = 4, "4 lines, expected 3");
        wrong(
            |seen| seen.hash = Some("12ac".into()),
            "the hash of the 3 lines is 12ac, expected '12ab'",
        );
        wrong(
            |seen| seen.starting.clear(),
            "0 lines start with ':', expected 2",
        );
    }

    #[test]
    fn foreign_text_stays_short_and_harmless() {
        assert_eq!(quoted("a\u{1b}[2J\n"), r"'a\u{1b}[2J\n'");
        assert!(quoted(&"x".repeat(70_000)).len() < 100);
    }
}
