//! Templates of stream messages.

/// A text with the placeholders `{k}` (the message's number) and `{id}` (the connection's).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Number,
    Id,
}

impl Template {
    pub fn parse(text: &str) -> Template {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let next = [("{k}", Part::Number), ("{id}", Part::Id)]
                .into_iter()
                .filter_map(|(name, part)| rest.find(name).map(|at| (at, name.len(), part)))
                .min_by_key(|(at, ..)| *at);
            let (at, length, part) = match next {
                Some((at, length, part)) => (at, length, Some(part)),
                None => (rest.len(), 0, None),
            };
            if at > 0 {
                parts.push(Part::Text(rest.as_bytes()[..at].to_vec()));
            }
            parts.extend(part);
            rest = &rest[at + length..];
        }
        Template(parts)
    }

    /// The number and the id in a message that matches, each None where the template has none; None where it does not
    /// match.
    pub fn parse_message(&self, mut message: &[u8]) -> Option<(Option<u64>, Option<u64>)> {
        let (mut k, mut id) = (None, None);
        for part in &self.0 {
            match part {
                Part::Text(text) => message = message.strip_prefix(text.as_slice())?,
                Part::Number | Part::Id => {
                    let end = message.iter().position(|byte| !byte.is_ascii_digit());
                    let (digits, rest) = message.split_at(end.unwrap_or(message.len()));
                    if digits.len() > 1 && digits[0] == b'0' {
                        return None;
                    }
                    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
                    match part {
                        Part::Number => k = Some(number),
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
        assert_eq!(
            chunk.parse_message(b"Chunk 3 for 12"),
            Some((Some(3), Some(12)))
        );
        for wrong in [
            "Chunk 03 for 12",
            "Chunk  for 12",
            "Chunk -3 for 12",
            "Chunk 3 for 12 ",
            "Chunk 3 for",
        ] {
            assert_eq!(chunk.parse_message(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(
            chunk.parse_message(b"Chunk 99999999999999999999999 for 1"),
            None
        );
        assert_eq!(Template::parse("").parse_message(b""), Some((None, None)));
        assert_eq!(
            Template::parse("{id}").parse_message(b"7"),
            Some((None, Some(7)))
        );
    }

    #[test]
    fn templates_are_split_at_their_placeholders() {
        let text = |text: &str| Part::Text(text.as_bytes().to_vec());
        let parts = vec![Part::Id, text("-"), Part::Number, text("{x}"), Part::Number];
        assert_eq!(Template::parse("{id}-{k}{x}{k}"), Template(parts));
        assert_eq!(Template::parse("plain"), Template(vec![text("plain")]));
        let both = Template::parse("{k}:{id}");
        assert_eq!(both.parse_message(b"0:10"), Some((Some(0), Some(10))));
        assert_eq!(both.parse_message(b"00:1"), None);
        assert_eq!(both.parse_message(b"1:2:3"), None);
    }
}
