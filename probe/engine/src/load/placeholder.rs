//! Texts with placeholders (`{n}`, `{id}`, `{column}`). Each request has its own values for them.

use std::fmt;
use std::io::Write;

/// A part of a text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(Vec<u8>),
    /// The request's number.
    Number,
    /// The connection's number.
    Id,
    /// A value of the request's row, as it is, or escaped as in a URL.
    Column(usize),
    UrlColumn(usize),
}

/// The values of the placeholders for one request.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub id: u64,
    pub number: u64,
    pub row: &'a [Vec<u8>],
}

/// A text as its parts, in order; two texts do not follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces(pub Vec<Piece>);

impl Pieces {
    /// Splits a text. `resolve` has what a name stands for: None leaves it as it stands. `{{name}}` is `{name}` where
    /// `escapes`. Braces around anything but a name are text.
    pub fn parse(
        bytes: &[u8],
        escapes: bool,
        resolve: &dyn Fn(&str) -> Result<Option<Piece>, String>,
    ) -> Result<Pieces, String> {
        let mut pieces = Pieces::default();
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'{', rest) {
            pieces.push_text(&rest[..at]);
            rest = &rest[at..];
            let doubled = escapes && rest.get(1) == Some(&b'{');
            let escaped = doubled.then(|| name(&rest[1..])).flatten();
            if let Some(inner) = escaped.filter(|inner| rest.get(inner.len() + 3) == Some(&b'}')) {
                let length = inner.len() + 2;
                pieces.push_text(&rest[1..=length]);
                rest = &rest[length + 2..];
                continue;
            }
            let found = match name(rest) {
                Some(inner) => resolve(inner)?.map(|piece| (piece, inner.len() + 2)),
                None => None,
            };
            let length = match found {
                Some((piece, length)) => {
                    pieces.0.push(piece);
                    length
                }
                None => {
                    pieces.push_text(b"{");
                    1
                }
            };
            rest = &rest[length..];
        }
        pieces.push_text(rest);
        Ok(pieces)
    }

    pub fn push_text(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            _ if bytes.is_empty() => {}
            Some(Piece::Text(text)) => text.extend_from_slice(bytes),
            _ => self.0.push(Piece::Text(bytes.to_vec())),
        }
    }

    pub fn append(&mut self, other: Pieces) {
        for piece in other.0 {
            match piece {
                Piece::Text(text) => self.push_text(&text),
                piece => self.0.push(piece),
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all requests have the same text.
    pub fn is_constant(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// The text between the placeholders.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_slice()),
            _ => None,
        })
    }

    /// The columns that are used.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Column(column) | Piece::UrlColumn(column) => Some(*column),
            _ => None,
        })
    }

    /// The same as a part of a URL.
    pub fn in_url(self) -> Pieces {
        let escaped = self.0.into_iter().map(|piece| match piece {
            Piece::Column(column) => Piece::UrlColumn(column),
            piece => piece,
        });
        Pieces(escaped.collect())
    }

    /// Appends the text of a request.
    pub fn write(&self, values: &Values, out: &mut Vec<u8>) {
        let column = |column: usize| values.row.get(column).map_or(&[][..], Vec::as_slice);
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Number => write_text(out, format_args!("{}", values.number)),
                Piece::Id => write_text(out, format_args!("{}", values.id)),
                Piece::Column(own) => out.extend_from_slice(column(*own)),
                Piece::UrlColumn(own) => write_escaped(column(*own), out),
            }
        }
    }
}

/// The name in `{name}…`: letters, digits and some signs. It does not begin with a digit.
fn name(bytes: &[u8]) -> Option<&str> {
    let inner = bytes.strip_prefix(b"{")?;
    let end = inner.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"_.:-".contains(byte))?;
    let starts_well = inner[0].is_ascii_alphabetic() || inner[0] == b'_';
    let is_name = end > 0 && inner[end] == b'}' && starts_well;
    std::str::from_utf8(&inner[..end]).ok().filter(|_| is_name)
}

/// Appends a text to bytes, which cannot fail.
pub fn write_text(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a Vec takes all bytes");
}

/// All but the unreserved characters of RFC 3986 as %XX.
fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => out.push(byte),
            false => write_text(out, format_args!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Pieces, String> {
        Pieces::parse(text.as_bytes(), true, &|name| match name {
            "n" => Ok(Some(Piece::Number)),
            "id" => Ok(Some(Piece::Id)),
            "user" => Ok(Some(Piece::Column(0))),
            _ => Err(format!("unknown: {name}")),
        })
    }

    fn written(text: &str, in_url: bool) -> String {
        let mut out = Vec::new();
        let row = [b"a b/\xc3\xbc".to_vec()];
        let values = Values { id: 7, number: 1_234_567_890, row: &row };
        let pieces = parse(text).unwrap();
        let pieces = if in_url { pieces.in_url() } else { pieces };
        pieces.write(&values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn placeholders_get_their_values() {
        assert_eq!(written("/{id}/{n}?x", true), "/7/1234567890?x");
        assert_eq!(written("{user}", true), "a%20b%2F%C3%BC");
        assert_eq!(written("{user}{user}", false), "a b/üa b/ü");
    }

    #[test]
    fn other_braces_are_text() {
        for text in ["{\"a\": {\"b\": 1}}", "{}", "{ n }", "{n", "n}", "{1}", "{", "}{", "{-n}", "{ü}", ""] {
            assert_eq!(written(text, false), text);
        }
        assert_eq!(written("{\"a\":{n}}", false), "{\"a\":1234567890}");
        assert_eq!(written("{{n}}", false), "{n}");
        assert_eq!(written("{{me}} {{{id}", false), "{me} {{7");
        assert_eq!(parse("{me}"), Err("unknown: me".into()));
        // Without escapes, and with names that stay as they stand.
        let plain = Pieces::parse(b"{{n}}{x}", false, &|name| Ok((name == "n").then_some(Piece::Id)));
        let text = |text: &[u8]| Piece::Text(text.to_vec());
        assert_eq!(plain.unwrap().0, [text(b"{"), Piece::Id, text(b"}{x}")]);
    }

    #[test]
    fn parts_of_a_text() {
        let mut pieces = parse("a{n}b").unwrap();
        assert!(!pieces.is_constant() && !pieces.is_empty());
        pieces.append(parse("c{user}").unwrap());
        let texts: Vec<_> = pieces.texts().collect();
        assert_eq!(texts, [&b"a"[..], b"bc"]);
        assert_eq!(pieces.columns().collect::<Vec<_>>(), [0]);
        assert!(parse("abc").unwrap().is_constant());
        assert!(parse("").unwrap().is_empty());
    }
}
