//! Protocol lines: the lines of a program's stdout that begin with `::`. The text is hostile.

use std::collections::BTreeMap;
use wire::messages::Span;
use wire::text::quoted;

#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    Ready { port: Option<u16> },
    Phase { name: String, ns: u64 },
    Await { name: String },
    Span(Span),
    Result(BTreeMap<String, String>),
}

/// The event of a protocol line, or what is wrong with the line.
pub type Parsed = Result<Event, String>;

/// Parses a line that begins with `::`, without its newline.
pub fn parse(line: &[u8]) -> Parsed {
    let text = std::str::from_utf8(line)
        .map_err(|_| format!("{} is not UTF-8", quoted(&String::from_utf8_lossy(line))))?;
    let wrong = |why: &str| format!("{}: {why}", quoted(text));
    if text.chars().any(char::is_control) {
        return Err(wrong("a control character"));
    }
    let mut words = text[2..].split(' ');
    let word = words.next().unwrap_or("");
    if !["ready", "phase", "await", "span", "result"].contains(&word) {
        return Err(wrong("not a protocol line: ready, phase, await, span, result"));
    }
    let mut pairs = BTreeMap::new();
    for pair in words {
        if pair.contains(char::is_whitespace) {
            return Err(wrong("white space other than one space"));
        }
        match pair.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                if pairs.insert(key.to_owned(), value.to_owned()).is_some() {
                    return Err(wrong(&format!("{} twice", quoted(key))));
                }
            }
            Some(_) => return Err(wrong("a pair without a key")),
            None => return Err(wrong("a pair without =")),
        }
    }
    let mut name = || match pairs.remove("name") {
        Some(name) if !name.is_empty() => Ok(name),
        _ => Err(wrong("no name")),
    };
    match word {
        "ready" => {
            let port = |text: &String| number(text).and_then(|port| u16::try_from(port).ok());
            match pairs.get("port").map(port) {
                Some(None | Some(0)) => Err(wrong("port is not a number from 1 to 65535")),
                port => Ok(Event::Ready { port: port.flatten() }),
            }
        }
        "phase" => {
            let name = name()?;
            let ns = pairs.get("ns").and_then(|ns| number(ns));
            let ns = ns.ok_or_else(|| wrong("ns is not a number of nanoseconds"))?;
            Ok(Event::Phase { name, ns })
        }
        "await" => Ok(Event::Await { name: name()? }),
        "span" => {
            let value = |key: &str| pairs.get(key).and_then(|value| number(value));
            match (value("unit"), value("begin"), value("end")) {
                (Some(unit), Some(begin_ns), Some(end_ns)) if begin_ns <= end_ns => {
                    Ok(Event::Span(Span { unit, begin_ns, end_ns }))
                }
                _ => Err(wrong("needs unit, begin and end, which is not before it")),
            }
        }
        _ => Ok(Event::Result(pairs)),
    }
}

/// Decimal digits only: `parse` alone would take a plus sign. At most 63 bits, which is what stores keep.
fn number(text: &str) -> Option<u64> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_decimal.then(|| text.parse::<i64>().ok())??;
    u64::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(line: &str) -> Parsed {
        parse(line.as_bytes())
    }

    #[test]
    fn protocol_lines() {
        assert_eq!(parse_text("::ready port=40123"), Ok(Event::Ready { port: Some(40123) }));
        assert_eq!(parse_text("::ready"), Ok(Event::Ready { port: None }));
        let phase = Event::Phase { name: "relay".into(), ns: 12 };
        assert_eq!(parse_text("::phase name=relay ns=12"), Ok(phase));
        assert_eq!(parse_text("::await name=x=y"), Ok(Event::Await { name: "x=y".into() }));
        let span = Span { unit: 3, begin_ns: 5, end_ns: 9 };
        assert_eq!(parse_text("::span unit=3 begin=5 end=9"), Ok(Event::Span(span)));
        let result = [("a".into(), "1".into()), ("b".into(), "".into())].into();
        assert_eq!(parse_text("::result a=1 b="), Ok(Event::Result(result)));
    }

    #[test]
    fn wrong_lines() {
        for line in [
            "::",
            "::what",
            ":: ready",
            "::ready port",
            "::ready port=0",
            "::ready port=65536",
            "::ready port=+1",
            "::ready port=-1",
            "::phase",
            "::phase name=a",
            "::phase ns=1",
            "::phase name= ns=1",
            "::phase name=a ns=1e999",
            "::phase name=a ns=-1",
            "::phase name=a ns=1208925819614629174706176",
            "::phase name=a ns=9223372036854775808",
            "::span unit=1 begin=2 end=18446744073709515160",
            "::phase name=a ns=",
            "::phase name=a ns=1.0",
            "::phase name=a name=b ns=1",
            "::phase  name=a ns=1",
            "::result a",
            "::result =1",
            "::result a=1 a=1",
            "::result a=1 ",
            "::result a=1\r",
            "::result a=\u{1b}[2J",
            "::result a=\0",
            "::result a\u{2003}=1",
            "::span unit=1 begin=2",
            "::span unit=1 begin=2 end=1",
            "::span unit=-1 begin=1 end=2",
            "::ready\tport=1",
            "::await",
            "::Ready",
        ] {
            assert!(parse_text(line).is_err(), "{line:?}");
        }
        assert!(parse(b"::result a=\xff").is_err());
    }

    #[test]
    fn limits_of_values() {
        for (line, right) in [
            ("::ready port=1", true),
            ("::ready port=65535", true),
            ("::span unit=0 begin=5 end=5", true),
            ("::span unit=0 begin=5 end=4", false),
            ("::phase name=a ns=0", true),
            ("::phase name=a ns=9223372036854775807", true),
            ("::phase name=a ns=9223372036854775808", false),
            ("::phase name=a ns=18446744073709551616", false),
        ] {
            assert_eq!(parse_text(line).is_ok(), right, "{line}");
        }
        let error = parse_text("::result a=1 a=2").unwrap_err();
        assert_eq!(error, "'::result a=1 a=2': 'a' twice");
    }
}
