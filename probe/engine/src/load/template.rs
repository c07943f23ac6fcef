//! Templates of stream messages.

use super::placeholder::{Piece, Pieces};

/// A text with the placeholders `{k}` (the message's number) and `{id}` (the connection's).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Pieces);

impl Template {
    pub fn parse(text: &str) -> Template {
        let pieces = Pieces::parse(text.as_bytes(), false, &|name| {
            Ok(match name {
                "k" => Some(Piece::Number),
                "id" => Some(Piece::Id),
                _ => None,
            })
        });
        // Other names are text: there is nothing to refuse.
        Template(pieces.unwrap_or_default())
    }

    /// The number and the id in a message that matches, each None where the template has none; None where it does not
    /// match.
    pub fn parse_message(&self, mut message: &[u8]) -> Option<(Option<u64>, Option<u64>)> {
        let (mut k, mut id) = (None, None);
        for piece in &self.0 .0 {
            match piece {
                Piece::Text(text) => message = message.strip_prefix(text.as_slice())?,
                _ => {
                    let end = message.iter().position(|byte| !byte.is_ascii_digit());
                    let (digits, rest) = message.split_at(end.unwrap_or(message.len()));
                    if digits.len() > 1 && digits[0] == b'0' {
                        return None;
                    }
                    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
                    match piece {
                        Piece::Number => k = Some(number),
                        _ => id = Some(number),
                    }
                    message = rest;
                }
            }
        }
        message.is_empty().then_some((k, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_template() {
        let chunk = Template::parse("Chunk {k} for {id}");
        assert_eq!(chunk.parse_message(b"Chunk 3 for 12"), Some((Some(3), Some(12))));
        for wrong in ["Chunk 03 for 12", "Chunk  for 12", "Chunk -3 for 12", "Chunk 3 for 12 ", "Chunk 3 for"]
        {
            assert_eq!(chunk.parse_message(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(chunk.parse_message(b"Chunk 99999999999999999999999 for 1"), None);
        assert_eq!(Template::parse("").parse_message(b""), Some((None, None)));
        assert_eq!(Template::parse("{id}").parse_message(b"7"), Some((None, Some(7))));
    }

    #[test]
    fn templates_are_split_at_their_placeholders() {
        let text = |text: &str| Piece::Text(text.as_bytes().to_vec());
        let (k, id) = (Piece::Number, Piece::Id);
        let pieces = vec![id, text("-"), k.clone(), text("{x}"), k];
        assert_eq!(Template::parse("{id}-{k}{x}{k}"), Template(Pieces(pieces)));
        let plain = Pieces(vec![text("plain")]);
        assert_eq!(Template::parse("plain"), Template(plain));
        let both = Template::parse("{k}:{id}");
        assert_eq!(both.parse_message(b"0:10"), Some((Some(0), Some(10))));
        assert_eq!(both.parse_message(b"00:1"), None);
        assert_eq!(both.parse_message(b"1:2:3"), None);
    }
}
