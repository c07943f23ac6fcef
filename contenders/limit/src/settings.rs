//! The `key=value` arguments. Unknown keys are ignored.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::exit;

/// The largest whole number that an argument may be.
pub const MOST: u64 = 1_000_000_000;

pub struct Given(HashMap<String, String>);

impl Given {
    pub fn new(arguments: impl Iterator<Item = String>) -> Self {
        let pair = |argument: String| match argument.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (argument, String::new()),
        };
        Given(arguments.map(pair).collect())
    }

    /// The value of a key that must be there.
    pub fn whole_number(&self, key: &str, least: u64, most: u64) -> Result<u64, String> {
        let text = self.text(key);
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits && (least..=most).contains(&number) => Ok(number),
            _ => Err(self.refusal(key, &format!("a whole number from {least} to {most}"))),
        }
    }

    pub fn whole_number_or(
        &self,
        key: &str,
        least: u64,
        most: u64,
        otherwise: u64,
    ) -> Result<u64, String> {
        match self.0.contains_key(key) {
            true => self.whole_number(key, least, most),
            false => Ok(otherwise),
        }
    }

    /// The first choice is the default.
    pub fn one_of<'a, const N: usize>(
        &self,
        key: &str,
        choices: [&'a str; N],
    ) -> Result<&'a str, String> {
        match self.0.contains_key(key) {
            true => self.needed(key, choices),
            false => Ok(choices[0]),
        }
    }

    pub fn needed<'a, const N: usize>(
        &self,
        key: &str,
        choices: [&'a str; N],
    ) -> Result<&'a str, String> {
        let found = choices.iter().find(|choice| **choice == self.text(key));
        found
            .copied()
            .ok_or_else(|| self.refusal(key, &choices.join(" or ")))
    }

    /// The address on which a server listens: `host` and `port`.
    pub fn address(&self) -> Result<SocketAddrV4, String> {
        let host = match self.0.get("host") {
            Some(text) => text
                .parse()
                .map_err(|_| self.refusal("host", "an IPv4 address"))?,
            None => Ipv4Addr::LOCALHOST,
        };
        let port = self.whole_number_or("port", 0, 65535, 0)? as u16;
        Ok(SocketAddrV4::new(host, port))
    }

    /// There is a thread for each: there is an end to them.
    pub fn cores(&self) -> Result<usize, String> {
        Ok(self.whole_number_or("cores", 1, 1024, 1)? as usize)
    }

    /// How often a program does its work.
    pub fn repeats(&self) -> Result<u64, String> {
        self.whole_number_or("repeats", 1, 3000, 1)
    }

    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    pub fn refusal(&self, key: &str, wanted: &str) -> String {
        format!("{key} must be {wanted}, not {:?}", self.text(key))
    }
}

/// The settings that `read` finds in the program's arguments. One that cannot be
/// used ends the program with status 2 and one line.
pub fn read<S>(program: &str, read: impl Fn(&Given) -> Result<S, String>) -> S {
    // Text that is not UTF-8 is no value of any key, and is refused like other such values.
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    match read(&Given::new(arguments.skip(1))) {
        Ok(settings) => settings,
        Err(complaint) => {
            eprintln!("{program}: {complaint}");
            exit(2);
        }
    }
}
