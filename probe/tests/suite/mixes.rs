//! Requests that differ: placeholders, several targets.

use crate::common::driving::*;
use crate::common::server::{request, Server, OK};
use crate::common::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

/// A server that keeps what it was sent; a body has the length that its head says.
fn keeping(reply: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> (Server, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = requests.clone();
    let server = Server::start(move |mut stream, _| {
        while let Some(mut text) = request(&mut stream) {
            let length = text
                .split("Content-Length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).unwrap();
            text.push_str(&String::from_utf8(body).unwrap());
            let reply = reply(&text);
            kept.lock().unwrap().push(text);
            if stream.write_all(&reply).is_err() {
                return;
            }
        }
    });
    (server, requests)
}

fn path(request: &str) -> &str {
    request.split(' ').nth(1).unwrap()
}

#[test]
fn placeholders_have_the_values_of_each_request() {
    let (server, requests) = keeping(|_| OK.to_vec());
    let changes = json!({
        "requests": 12, "threads": 2, "connections": 4,
        "request": {
            "method": "POST", "target": "/{n}/{user}?c={id}",
            "headers": [["Host", "here"]],
            "body": "{\"name\": \"{user}\", \"n\": {n}}",
        },
        "templates": {"columns": ["user"], "rows": [["a b"], ["c"], ["d"]]},
    });
    let outcome = drive(&server, changes);
    all_answered(&outcome, 12);
    let requests = std::mem::take(&mut *requests.lock().unwrap());
    let mut numbers = BTreeSet::new();
    for text in &requests {
        let parts: Vec<_> = path(text).split(&['/', '?'][..]).collect();
        let number: usize = parts[1].parse().unwrap();
        let row = (number - 1) % 3;
        assert_eq!(parts[2], ["a%20b", "c", "d"][row]);
        let id: u64 = parts[3].strip_prefix("c=").unwrap().parse().unwrap();
        assert!((1..=4).contains(&id));
        let name = ["a b", "c", "d"][row];
        let body = format!("{{\"name\": \"{name}\", \"n\": {number}}}");
        assert!(text.ends_with(&body), "{text}");
        numbers.insert(number);
    }
    assert_eq!(requests.len(), 12);
    assert_eq!(numbers.len(), 12);
    let (server, lines) = keeping(|_| b"1\n".to_vec());
    let changes = json!({
        "protocol": "tcp", "line": "get {key} {n}", "requests": 4,
        "templates": {"columns": ["key"], "rows": [["one"], ["two"]]},
    });
    let outcome = drive(&server, changes);
    assert_eq!(outcome["requests"], 4, "{outcome:#}");
    let lines: BTreeSet<_> = std::mem::take(&mut *lines.lock().unwrap()).into_iter().collect();
    let right = ["get one 1\n", "get one 3\n", "get two 2\n", "get two 4\n"];
    assert_eq!(lines, right.map(String::from).into());
}

#[test]
fn targets_take_turns() {
    let server = Server::answering(|head| match path(head) {
        "/b" => b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => OK.to_vec(),
    });
    let targets = json!(["/a", "/b"]);
    for pacing in [json!({"kind": "closed"}), json!({"kind": "constant", "rate_per_s": 400})] {
        let changes = json!({
            "requests": 40, "pacing": pacing, "connections": 3,
            "request": {"targets": targets, "headers": [["Host", "here"]]},
        });
        let outcome = drive(&server, changes);
        assert_eq!((&outcome["requests"], &outcome["errors"]), (&json!(20), &json!({"status": 20})));
        let [a, b] = outcome["targets"].as_array().unwrap().as_slice() else {
            panic!("{outcome:#}");
        };
        assert_eq!((&a["requests"], &a["errors"]), (&json!(20), &json!({})));
        assert_eq!(a["statuses"], json!({"200": 20}));
        assert_eq!((&b["requests"], &b["errors"]), (&json!(0), &json!({"status": 20})));
        assert_eq!(b["statuses"], json!({"404": 20}));
        let counts = [&a["latency"]["count"], &b["latency"]["count"]];
        assert_eq!(counts, [&json!(20), &json!(0)]);
    }
}

#[test]
fn plans_of_requests_that_cannot_be_sent() {
    let server = Server::replying(OK, false);
    let refused = |changes, why| is_refused(&plan(&server, changes), why);
    let request = json!({"target": "/{user}", "headers": [["Host", "here"]]});
    refused(json!({"request": request, "templates": {}}), "the placeholder {user} is unknown");
    let templates = json!({"columns": ["user"], "rows": [["a", "b"]]});
    refused(json!({"request": request, "templates": templates}), "a row has other columns");
    let stream = json!({"headers": [["Host", "here"]], "targets": ["/"]});
    refused(json!({"request": stream, "protocol": "stream", "duration_s": 1}), "for http only");
}
