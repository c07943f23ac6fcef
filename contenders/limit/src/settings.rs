//! The `key=value` arguments. Unknown keys are ignored.

use std::collections::HashMap;

pub struct Settings {
    pub nodes: usize,
    pub messages: i64,
    pub token: bool,
    pub trace: bool,
    pub hold: bool,
}

/// Fails with one line that says which value cannot be used.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Settings, String> {
    let given: HashMap<String, String> = arguments
        .map(|argument| match argument.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (argument, String::new()),
        })
        .collect();
    Ok(Settings {
        nodes: whole_number(&given, "nodes", 2)? as usize,
        messages: whole_number(&given, "messages", 1)?,
        token: one_of(&given, "mode", ["pipelined", "token"])? == "token",
        trace: one_of(&given, "trace", ["0", "1"])? == "1",
        hold: one_of(&given, "hold", ["0", "1"])? == "1",
    })
}

fn whole_number(given: &HashMap<String, String>, key: &str, least: i64) -> Result<i64, String> {
    const MOST: i64 = 1_000_000_000;
    let text = given.get(key).map_or("", String::as_str);
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && (least..=MOST).contains(&number) => Ok(number),
        _ => Err(refusal(
            key,
            &format!("a whole number from {least} to {MOST}"),
            text,
        )),
    }
}

/// The first choice is the default.
fn one_of<'a>(
    given: &'a HashMap<String, String>,
    key: &str,
    choices: [&'a str; 2],
) -> Result<&'a str, String> {
    let text = given.get(key).map_or(choices[0], String::as_str);
    if choices.contains(&text) {
        Ok(text)
    } else {
        Err(refusal(key, &choices.join(" or "), text))
    }
}

fn refusal(key: &str, wanted: &str, text: &str) -> String {
    format!("{key} must be {wanted}, not {text:?}")
}
