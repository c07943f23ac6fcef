//! Whether a program's output is the evidence that the request expects. Pure.

use std::collections::BTreeMap;
use wire::refuse;
use wire::request::Expect;
use wire::text::quoted;

/// The probe's observations of a program's stdout.
#[derive(Debug, Default)]
pub struct Observed {
    pub result: Option<BTreeMap<String, String>>,
    /// Ordinary lines, and how many of them start with each prefix.
    pub lines: u64,
    pub starting: BTreeMap<char, u64>,
    /// SHA-256 of all ordinary lines, where one is expected.
    pub hash: Option<String>,
}

/// The error is the first difference.
pub fn check(expect: &Expect, observed: &Observed) -> Result<(), String> {
    if !expect.result.is_empty() {
        let result = observed.result.as_ref().ok_or("there was no ::result line")?;
        for (key, expected) in &expect.result {
            match result.get(key) {
                Some(value) if value == expected => {}
                Some(value) => {
                    return Err(format!("{key} is {}, expected {}", quoted(value), quoted(expected)))
                }
                None => return Err(format!("::result has no {key}")),
            }
        }
    }
    if let Some(lines) = &expect.lines {
        if let Some(total) = lines.total.filter(|&total| total != observed.lines) {
            return Err(format!("{} lines, expected {total}", observed.lines));
        }
        if let Some(expected) = lines.sha256.as_ref().filter(|&hash| observed.hash.as_ref() != Some(hash)) {
            let (lines, hash) = (observed.lines, observed.hash.as_deref().unwrap_or("unknown"));
            let expected = quoted(expected);
            return Err(format!("the hash of the {lines} lines is {hash}, expected {expected}"));
        }
        for (prefix, &expected) in &lines.starting {
            let count = observed.starting.get(prefix).copied().unwrap_or(0);
            refuse!(count != expected, "{count} lines start with {prefix:?}, expected {expected}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::request::ExpectLines;

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

    fn observed() -> Observed {
        Observed {
            result: Some(map(&[("checksum", "21"), ("more", "1")])),
            lines: 3,
            starting: [(':', 2), ('*', 1)].into(),
            hash: Some("12ab".into()),
        }
    }

    #[test]
    fn as_expected() {
        assert_eq!(check(&expect(), &observed()), Ok(()));
        assert_eq!(check(&Expect::default(), &Observed::default()), Ok(()));
    }

    #[test]
    fn each_way_to_be_wrong() {
        let wrong = |change: fn(&mut Observed), reason: &str| {
            let mut observed = observed();
            change(&mut observed);
            assert_eq!(check(&expect(), &observed).unwrap_err(), reason);
        };
        wrong(|observed| observed.result = None, "there was no ::result line");
        wrong(|observed| observed.result = Some(map(&[("a", "b")])), "::result has no checksum");
        wrong(
            |observed| observed.result = Some(map(&[("checksum", "21.0")])),
            "checksum is '21.0', expected '21'",
        );
        wrong(|observed| observed.lines = 4, "4 lines, expected 3");
        wrong(
            |observed| observed.hash = Some("12ac".into()),
            "the hash of the 3 lines is 12ac, expected '12ab'",
        );
        wrong(|observed| observed.starting.clear(), "0 lines start with ':', expected 2");
    }
}
