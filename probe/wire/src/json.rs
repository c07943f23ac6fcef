//! Reads requests and writes messages as JSON. serde takes longer to compile than all else in `ringside-probe-trial`, and
//! a user's first trial waits for that program.

use crate::text::quoted;
use std::collections::BTreeMap;
use std::fmt::{self, Formatter, Write};
use std::net::IpAddr;
use std::str::FromStr;

/// How deep lists and objects may be nested.
const MAX_DEPTH: usize = 100;

/// A type that is read from JSON.
pub trait FromJson: Sized {
    /// The error is one line.
    fn read(from: &mut Reader) -> Result<Self, String>;

    /// The value of a key that is left out; None if it is required.
    fn left_out() -> Option<Self> {
        None
    }
}

/// Declares structs that are read from objects. A key that is left out has its default, or is null.
macro_rules! from_json {
    ($($(#[$of:meta])* pub struct $name:ident {
        $($(#[$about:meta])* pub $key:ident: $kind:ty $(= $default:expr)?,)*
    })*) => {$(
        $(#[$of])*
        pub struct $name {
            $($(#[$about])* pub $key: $kind,)*
        }

        impl $crate::json::FromJson for $name {
            fn read(from: &mut $crate::json::Reader) -> Result<$name, String> {
                $(let mut $key: Option<$kind> = None;)*
                from.object(&mut |from, key| match key {
                    $(stringify!($key) => from.once(&mut $key),)*
                    _ => Err(format!("unknown, the keys are {}", [$(stringify!($key)),*].join(", "))),
                })?;
                $($($key = $key.or_else(|| Some($default));)?)*
                Ok($name { $($key: $crate::json::required(stringify!($key), $key)?,)* })
            }
        }
    )*};
}
pub(crate) use from_json;

pub fn required<T: FromJson>(key: &str, value: Option<T>) -> Result<T, String> {
    value.or_else(T::left_out).ok_or_else(|| format!("'{key}': missing"))
}

/// The value that all of these bytes are.
pub fn parse<T: FromJson>(bytes: &[u8]) -> Result<T, String> {
    let mut from = Reader::new(bytes)?;
    let value = T::read(&mut from)?;
    from.end()?;
    Ok(value)
}

/// The error is one line.
type Taken = Result<(), String>;

/// A JSON text of which the beginning has been read.
pub struct Reader<'a> {
    rest: &'a str,
    /// The length of the whole text.
    bytes: usize,
    depth: usize,
}

impl Reader<'_> {
    fn new(bytes: &[u8]) -> Result<Reader<'_>, String> {
        let rest = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        Ok(Reader { rest, bytes: rest.len(), depth: 0 })
    }

    fn end(&mut self) -> Taken {
        match self.next() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end")),
        }
    }

    /// The next character that is not white space.
    fn next(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.rest.chars().next()
    }

    /// Takes a token, if it is the next one.
    fn takes(&mut self, token: &str) -> bool {
        self.next();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take(&mut self, token: &str) -> Taken {
        self.takes(token).then_some(()).ok_or_else(|| self.expected(token))
    }

    fn expected(&self, what: &str) -> String {
        let at = self.bytes - self.rest.len();
        let found: String = self.rest.chars().take(20).collect();
        match found.is_empty() {
            true => format!("expected {what}, but the text ends at byte {at}"),
            false => format!("expected {what} at byte {at}, not {}", quoted(&found)),
        }
    }

    /// The elements between two brackets, separated by commas; `each` reads one.
    fn list(&mut self, [open, close]: [&str; 2], each: &mut dyn FnMut(&mut Self) -> Taken) -> Taken {
        self.take(open)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.expected(&format!("at most {MAX_DEPTH} nested brackets")));
        }
        let mut has_ended = self.takes(close);
        while !has_ended {
            each(self)?;
            has_ended = self.takes(close);
            if !has_ended && !self.takes(",") {
                return Err(self.expected(&format!(", or {close}")));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// An object; `each` reads the value of a key.
    pub fn object(&mut self, each: &mut dyn FnMut(&mut Self, &str) -> Taken) -> Taken {
        self.list(["{", "}"], &mut |from| {
            let key = String::read(from)?;
            from.take(":")?;
            each(from, &key).map_err(|why| format!("{}: {why}", quoted(&key)))
        })
    }

    /// The value of a key that may be named once.
    pub fn once<T: FromJson>(&mut self, value: &mut Option<T>) -> Taken {
        match value.replace(T::read(self)?) {
            None => Ok(()),
            Some(_) => Err("named twice".into()),
        }
    }

    /// Any value.
    pub fn skip(&mut self) -> Taken {
        match self.next() {
            Some('{') => self.object(&mut |from, _| from.skip()),
            Some('[') => self.list(["[", "]"], &mut Self::skip),
            Some('"') => String::read(self).map(drop),
            Some('t' | 'f') => bool::read(self).map(drop),
            Some('n') => self.take("null"),
            _ => self.number::<f64>("a value").map(drop),
        }
    }

    /// A number as Rust reads it, which is more than JSON allows: `+1`, `01`, `1.`.
    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        self.next();
        let end = self.rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let number = number.parse().map_err(|_| self.expected(what))?;
        self.rest = rest;
        Ok(number)
    }

    /// The character for an escape; its backslash has been taken.
    fn escaped(&mut self) -> Result<char, String> {
        let (letters, characters) = ("\"\\/bfnrt", b"\"\\/\x08\x0c\n\r\t");
        if let Some(at) = self.rest.chars().next().and_then(|letter| letters.find(letter)) {
            self.rest = &self.rest[1..];
            return Ok(char::from(characters[at]));
        }
        let first = self.utf16_unit("u");
        let is_half = |unit: &u16| (0xd800..0xdc00).contains(unit);
        let second = first.filter(is_half).and_then(|_| self.utf16_unit("\\u"));
        let character = char::decode_utf16(first.into_iter().chain(second)).next();
        character.and_then(|character| character.ok()).ok_or_else(|| self.expected("a valid escape"))
    }

    fn utf16_unit(&mut self, prefix: &str) -> Option<u16> {
        let digits = self.rest.strip_prefix(prefix)?.get(..4)?;
        let unit = u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        self.rest = &self.rest[prefix.len() + 4..];
        Some(unit)
    }
}

/// Whether a character stands in strings only as an escape.
fn is_escaped(character: char) -> bool {
    matches!(character, '"' | '\\' | '\0'..='\u{1f}')
}

impl FromJson for String {
    fn read(from: &mut Reader) -> Result<String, String> {
        if !from.takes("\"") {
            return Err(from.expected("a string"));
        }
        let mut text = String::new();
        loop {
            let end = from.rest.find(is_escaped);
            let (plain, rest) = from.rest.split_at(end.unwrap_or(from.rest.len()));
            text += plain;
            from.rest = rest;
            if let Some(rest) = rest.strip_prefix('"') {
                from.rest = rest;
                return Ok(text);
            }
            from.rest = rest.strip_prefix('\\').ok_or_else(|| from.expected("the rest of a string"))?;
            text.push(from.escaped()?);
        }
    }
}

/// The JSON text of a value that the engine reads.
#[derive(Clone, Debug)]
pub struct Raw(pub String);

impl FromJson for Raw {
    fn read(from: &mut Reader) -> Result<Raw, String> {
        from.next();
        let text = from.rest;
        from.skip()?;
        Ok(Raw(text[..text.len() - from.rest.len()].into()))
    }
}

impl FromJson for bool {
    fn read(from: &mut Reader) -> Result<bool, String> {
        match from.takes("true") {
            true => Ok(true),
            false if from.takes("false") => Ok(false),
            false => Err(from.expected("true or false")),
        }
    }
}

impl FromJson for IpAddr {
    fn read(from: &mut Reader) -> Result<IpAddr, String> {
        let address = String::read(from)?;
        address.parse().map_err(|_| format!("{} is not an IP address", quoted(&address)))
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn read(from: &mut Reader) -> Result<Option<T>, String> {
        (!from.takes("null")).then(|| T::read(from)).transpose()
    }

    fn left_out() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn read(from: &mut Reader) -> Result<Vec<T>, String> {
        let mut values = Vec::new();
        from.list(["[", "]"], &mut |from| {
            values.push(T::read(from)?);
            Ok(())
        })?;
        Ok(values)
    }
}

impl<K: FromStr + Ord, V: FromJson> FromJson for BTreeMap<K, V> {
    fn read(from: &mut Reader) -> Result<BTreeMap<K, V>, String> {
        let mut values = BTreeMap::new();
        from.object(&mut |from, key| {
            let key = key.parse().map_err(|_| "not possible as a key")?;
            match values.insert(key, V::read(from)?) {
                None => Ok(()),
                Some(_) => Err("named twice".into()),
            }
        })?;
        Ok(values)
    }
}

/// A type that is written as JSON.
pub trait ToJson {
    fn write(&self, to: &mut Formatter) -> fmt::Result;
}

/// Declares structs that are written as objects, messages with their type.
macro_rules! to_json {
    ($($(#[$of:meta])* pub struct $name:ident $(as $type:literal)? {
        $($(#[$about:meta])* pub $key:ident: $kind:ty,)*
    })*) => {$(
        $(#[$of])*
        pub struct $name {
            $($(#[$about])* pub $key: $kind,)*
        }

        impl $crate::json::ToJson for $name {
            fn write(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
                let entries = [$(("type", &$type as &dyn ToJson),)? $((stringify!($key), &self.$key as &dyn ToJson)),*];
                $crate::json::write_object(to, &entries)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
                self.write(to)
            }
        }
    )*};
}
pub(crate) use to_json;

pub fn write_object(to: &mut Formatter, entries: &[(&str, &dyn ToJson)]) -> fmt::Result {
    to.debug_map().entries(entries.iter().map(|(key, value)| (Json(key), Json(*value)))).finish()
}

/// For the builders of `std::fmt`, which set brackets, colons and commas as JSON has them.
struct Json<'a>(&'a dyn ToJson);

impl fmt::Debug for Json<'_> {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        self.0.write(to)
    }
}

impl ToJson for &str {
    fn write(&self, to: &mut Formatter) -> fmt::Result {
        to.write_char('"')?;
        let mut rest = *self;
        // By runs: each write is a call through the formatter's `dyn Write`.
        while let Some(end) = rest.find(is_escaped) {
            to.write_str(&rest[..end])?;
            // Each is one byte of UTF-8.
            match rest.as_bytes()[end] {
                byte @ (b'"' | b'\\') => write!(to, "\\{}", char::from(byte))?,
                byte => write!(to, "\\u{byte:04x}")?,
            }
            rest = &rest[end + 1..];
        }
        to.write_str(rest)?;
        to.write_char('"')
    }
}

impl ToJson for String {
    fn write(&self, to: &mut Formatter) -> fmt::Result {
        self.as_str().write(to)
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn write(&self, to: &mut Formatter) -> fmt::Result {
        match self {
            Some(value) => value.write(to),
            None => to.write_str("null"),
        }
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write(&self, to: &mut Formatter) -> fmt::Result {
        to.debug_list().entries(self.iter().map(|value| Json(value))).finish()
    }
}

impl<A: ToJson, B: ToJson> ToJson for (A, B) {
    fn write(&self, to: &mut Formatter) -> fmt::Result {
        to.debug_list().entries([Json(&self.0), Json(&self.1)]).finish()
    }
}

impl<K: ToString, V: ToJson> ToJson for BTreeMap<K, V> {
    fn write(&self, to: &mut Formatter) -> fmt::Result {
        let mut object = to.debug_map();
        for (key, value) in self {
            object.entry(&Json(&key.to_string()), &Json(value));
        }
        object.finish()
    }
}

macro_rules! numbers {
    ($($kind:ident: $what:literal,)*) => {$(
        impl FromJson for $kind {
            fn read(from: &mut Reader) -> Result<$kind, String> {
                from.number($what)
            }
        }

        impl ToJson for $kind {
            fn write(&self, to: &mut Formatter) -> fmt::Result {
                fmt::Display::fmt(self, to)
            }
        }
    )*};
}

numbers! {
    u64: "a whole number below 2^64",
    usize: "a whole number below 2^64",
    i32: "a whole number below 2^31",
    u16: "a whole number below 2^16",
    f64: "a number",
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    from_json! {
        #[derive(Debug, PartialEq)]
        pub struct Outer {
            pub count: u64,
            pub share: f64 = 0.5,
            pub starting: BTreeMap<char, u64> = BTreeMap::new(),
            pub inner: Option<Inner>,
        }

        #[derive(Debug, PartialEq)]
        pub struct Inner {
            pub names: Vec<String>,
            pub right: bool = true,
        }
    }

    to_json! {
        pub struct Written as "written" {
            pub text: String,
            pub number: Option<u64>,
            pub pairs: Vec<(i32, f64)>,
            pub by_character: BTreeMap<char, String>,
        }
    }

    fn any_text(random: &mut fastrand::Rng) -> String {
        let length = random.usize(..30);
        let mut any = || match random.u8(..3) {
            0 => char::from(random.u8(..0x80)),
            1 => random.char('\0'..='\u{2fff}'),
            _ => random.char(..),
        };
        (0..length).map(|_| any()).collect()
    }

    #[test]
    fn keys_that_are_left_out() {
        let outer =
            parse::<Outer>(br#"{"inner": {"names": ["a", ""]}, "count": 18446744073709551615}"#).unwrap();
        let inner = Inner { names: vec!["a".into(), "".into()], right: true };
        assert_eq!((outer.count, outer.share, outer.inner), (u64::MAX, 0.5, Some(inner)));
        assert_eq!(parse::<Outer>(br#"{"count": 1, "inner": null}"#).unwrap().inner, None);
    }

    #[test]
    fn errors_name_the_key_and_the_place() {
        let nested = format!("{{\"a\": {}", "[".repeat(1_000_000));
        for (text, error) in [
            ("", "expected {, but the text ends at byte 0"),
            ("[1]", "expected { at byte 0, not '[1]'"),
            ("{\"count\": 1", "expected , or }, but the text ends at byte 11"),
            ("{\"count\": 1} x", "expected the end at byte 13, not 'x'"),
            ("{\"count\": -1}", "'count': expected a whole number below 2^64 at byte 10, not '-1}'"),
            ("{\"count\": 1e3}", "'count': expected a whole number below 2^64 at byte 10, not '1e3}'"),
            ("{\"count\": null}", "'count': expected a whole number below 2^64 at byte 10, not 'null}'"),
            ("{\"share\": \"1\"}", "'share': expected a number at byte 10, not '\\\"1\\\"}'"),
            ("{\"inner\": {\"names\": [7]}}", "'inner': 'names': expected a string at byte 21, not '7]}}'"),
            (
                "{\"inner\": {\"right\": no}}",
                "'inner': 'right': expected true or false at byte 20, not 'no}}'",
            ),
            ("{\"inner\": {}}", "'inner': 'names': missing"),
            ("{}", "'count': missing"),
            ("{\"a\\nb\": 1}", "'a\\nb': unknown, the keys are count, share, starting, inner"),
            ("{\"count\": 1, \"count\": 1}", "'count': named twice"),
            ("{\"starting\": {\"ab\": 1}}", "'starting': 'ab': not possible as a key"),
            ("{\"starting\": {\"a\": 1, \"\\u0061\": 1}}", "'starting': 'a': named twice"),
            ("{\"a\nb\": 1}", "expected the rest of a string at byte 3, not '\\nb\\\": 1}'"),
            ("{\"\\x\": 1}", "expected a valid escape at byte 3, not 'x\\\": 1}'"),
        ] {
            assert_eq!(parse::<Outer>(text.as_bytes()).unwrap_err(), error, "{text}");
        }
        let error = parse::<Raw>(nested.as_bytes()).unwrap_err();
        assert!(error.contains("at most 100 nested brackets"), "{error}");
        assert!(parse::<Outer>(b"{\"\xff\": 1}").unwrap_err().contains("utf-8"));
    }

    #[test]
    fn escapes() {
        let read = |text: &str| parse::<String>(format!("\"{text}\"").as_bytes());
        assert_eq!(read(r#"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"#).unwrap(), "\"\\/\u{8}\u{c}\n\r\té😀");
        for half in
            ["\\ud800", "\\udc00", "\\ud800\\n", "\\ud800\\ud800", "\\u12", "\\u+123", "\\u12é4", "\\é"]
        {
            assert!(read(half).unwrap_err().starts_with("expected a valid escape"), "{half}");
        }
        assert!(read("\\").unwrap_err().starts_with("expected the rest of a string"));
    }

    /// Texts are read as they were, however they are written.
    #[test]
    fn any_text_is_read_and_written() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1000 {
            let text = any_text(&mut random);
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            assert_eq!(parse::<String>(format!("\"{escaped}\"").as_bytes()).unwrap(), text);
            assert_eq!(parse::<String>(json!(text).to_string().as_bytes()).unwrap(), text);
            let number = random.bool().then(|| random.u64(..));
            let key = random.char(..);
            let written = Written {
                text: text.clone(),
                number,
                pairs: vec![(-7, 0.25), (i32::MAX, random.f64())],
                by_character: [(key, text.clone())].into(),
            };
            let line = written.to_string();
            assert!(!line.contains('\n'));
            let pairs = json!([[-7, 0.25], [i32::MAX, written.pairs[1].1]]);
            let expected = json!({
                "type": "written", "text": text, "number": number, "pairs": pairs,
                "by_character": {key.to_string(): text},
            });
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
        }
    }

    /// A changed text is JSON here where it is JSON for serde.
    #[test]
    fn what_is_json_is_the_same_as_for_serde() {
        let text =
            r#" {"argv": ["a\né", "\ud83d\ude00"], "x": {"n": null, "t": true, "f": [false, -7, 8e1]}} "#;
        let new: Vec<char> = "{}[]\",:\\untrue \n\u{1}é\u{a0}".chars().collect();
        let mut random = fastrand::Rng::with_seed(2);
        let mut accepted = 0;
        for _ in 0..50_000 {
            let mut changed: Vec<char> = text.chars().collect();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..changed.len());
                let new = random.choice(&new).copied().unwrap();
                match random.u8(..4) {
                    0 => changed.truncate(at.max(9)),
                    1 if !changed[at].is_ascii_digit() => drop(changed.remove(at)),
                    2 => changed.insert(at, new),
                    _ => changed[at] = new,
                }
            }
            let changed: String = changed.into_iter().collect();
            match (parse::<Raw>(changed.as_bytes()), serde_json::from_str::<Value>(&changed)) {
                (Ok(raw), Ok(_)) => {
                    assert_eq!(raw.0, changed.trim());
                    accepted += 1;
                }
                (Err(why), Err(_)) => assert!(!why.contains('\n'), "{why}"),
                (own, serde) => panic!("{own:?}, {serde:?}: {changed}"),
            }
        }
        assert!(accepted > 1000, "{accepted}");
    }
}
