//! Reads the arguments, `key=value` each. A value that cannot be used ends the program with status 2 and one line;
//! unknown keys are ignored.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::process::exit;

/// The largest whole number that an argument may be.
pub const MOST: u64 = 1_000_000_000;

pub struct Given(HashMap<String, String>);

impl Given {
    pub fn read() -> Self {
        let pair = |argument: String| match argument.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (argument, String::new()),
        };
        Given(std::env::args().skip(1).map(pair).collect())
    }

    /// The value of a key that must be there.
    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    /// The value of a key that must be there.
    pub fn whole_number(&self, key: &str, least: u64, most: u64) -> u64 {
        let text = self.text(key);
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits && (least..=most).contains(&number) => number,
            _ => self.refuse(key, &format!("a whole number from {least} to {most}")),
        }
    }

    pub fn whole_number_or(&self, key: &str, least: u64, most: u64, otherwise: u64) -> u64 {
        match self.0.contains_key(key) {
            true => self.whole_number(key, least, most),
            false => otherwise,
        }
    }

    pub fn cores(&self) -> usize {
        self.whole_number_or("cores", 1, 1024, 1) as usize
    }

    pub fn port(&self) -> u16 {
        self.whole_number_or("port", 0, 65535, 0) as u16
    }

    /// The address on which a server listens.
    pub fn host(&self) -> Ipv4Addr {
        match self.0.get("host") {
            Some(text) => text
                .parse()
                .unwrap_or_else(|_| self.refuse("host", "an IPv4 address")),
            None => Ipv4Addr::LOCALHOST,
        }
    }

    pub fn repeats(&self) -> u64 {
        self.whole_number_or("repeats", 1, 3000, 1)
    }

    pub fn flag(&self, key: &str) -> bool {
        self.one_of(key, &["0", "1"]) == "1"
    }

    /// The first choice is the default.
    pub fn one_of<'a>(&self, key: &str, choices: &[&'a str]) -> &'a str {
        match self.0.contains_key(key) {
            true => self.needed(key, choices),
            false => choices[0],
        }
    }

    pub fn needed<'a>(&self, key: &str, choices: &[&'a str]) -> &'a str {
        match choices.iter().find(|choice| **choice == self.text(key)) {
            Some(choice) => choice,
            None => self.refuse(key, &choices.join(" or ")),
        }
    }

    pub fn refuse(&self, key: &str, wanted: &str) -> ! {
        eprintln!("{key} must be {wanted}, not {:?}", self.text(key));
        exit(2);
    }
}
