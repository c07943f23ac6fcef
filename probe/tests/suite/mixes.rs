//! Requests that differ: placeholders, several targets, redirects. Both back-ends must count the same.

use crate::common::driving::*;
use crate::common::server::{request, Server, OK};
use crate::common::*;
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

/// A server that keeps what it was sent; a body has the length that its head says.
fn keeping(
    reply: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
) -> (Server, Arc<Mutex<Vec<String>>>) {
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

fn redirect(status: u16, location: &str, close: bool) -> Vec<u8> {
    let connection = if close { "Connection: close\r\n" } else { "" };
    format!("HTTP/1.1 {status} F\r\n{connection}Location: {location}\r\nContent-Length: 0\r\n\r\n")
        .into_bytes()
}

#[test]
fn placeholders_have_the_values_of_each_request() {
    let (server, requests) = keeping(|_| OK.to_vec());
    let changes = json!({
        "requests": 12, "threads": 2, "connections": 4,
        "request": {
            "method": "POST", "target": "/{n}/{user}?c={id}",
            "headers": [["Host", "here"], ["X-Draw", "{random:10:12}"]],
            "body": "{\"name\": \"{user}\", \"n\": {n}}",
        },
        "templates": {"seed": 5, "columns": ["user"], "rows": [["a b"], ["c"], ["d"]]},
    });
    for outcome in both(&plan(&server, changes)) {
        assert_eq!(outcome["requests"], 12, "{outcome:#}");
        assert_eq!(outcome["errors"], json!({}));
    }
    let requests = std::mem::take(&mut *requests.lock().unwrap());
    let mut numbers = BTreeSet::new();
    for text in &requests {
        let parts: Vec<_> = path(text).split(&['/', '?'][..]).collect();
        let number: usize = parts[1].parse().unwrap();
        let row = (number - 1) % 3;
        assert_eq!(parts[2], ["a%20b", "c", "d"][row]);
        let id: u64 = parts[3].strip_prefix("c=").unwrap().parse().unwrap();
        assert!((1..=4).contains(&id));
        let draw = text.split("X-Draw: ").nth(1).unwrap();
        let draw: u64 = draw.split("\r\n").next().unwrap().parse().unwrap();
        assert!((10..=12).contains(&draw));
        let name = ["a b", "c", "d"][row];
        let body = format!("{{\"name\": \"{name}\", \"n\": {number}}}");
        assert!(text.ends_with(&body), "{text}");
        numbers.insert(number);
    }
    // Of two loads or more.
    assert!(requests.len() >= 24 && requests.len() % 12 == 0);
    assert_eq!(numbers.len(), 12);
    let (server, lines) = keeping(|_| b"1\n".to_vec());
    let changes = json!({
        "protocol": "tcp", "line": "get {key} {n}", "requests": 4,
        "templates": {"columns": ["key"], "rows": [["one"], ["two"]]},
    });
    for outcome in both(&plan(&server, changes)) {
        assert_eq!(outcome["requests"], 4, "{outcome:#}");
    }
    let lines: BTreeSet<_> = std::mem::take(&mut *lines.lock().unwrap())
        .into_iter()
        .collect();
    let right = ["get one 1\n", "get one 3\n", "get two 2\n", "get two 4\n"];
    assert_eq!(lines, right.map(String::from).into());
}

#[test]
fn targets_get_their_shares() {
    let server = Server::start(|mut stream, _| {
        while let Some(text) = request(&mut stream) {
            let reply: &[u8] = match path(&text) {
                "/b" => b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
                _ => OK,
            };
            if stream.write_all(reply).is_err() {
                return;
            }
        }
    });
    let targets = json!([{"target": "/a", "weight": 3}, {"target": "/b", "weight": 1}]);
    for pacing in [
        json!({"kind": "closed"}),
        json!({"kind": "constant", "rate_per_s": 400}),
    ] {
        let changes = json!({
            "requests": 40, "pacing": pacing, "connections": 3,
            "request": {"targets": targets, "headers": [["Host", "here"]]},
        });
        for outcome in both(&plan(&server, changes)) {
            assert_eq!(
                (&outcome["requests"], &outcome["errors"]),
                (&json!(30), &json!({"status": 10}))
            );
            let [a, b] = outcome["targets"].as_array().unwrap().as_slice() else {
                panic!("{outcome:#}");
            };
            assert_eq!((&a["requests"], &a["errors"]), (&json!(30), &json!({})));
            assert_eq!(a["statuses"], json!({"200": 30}));
            assert_eq!(
                (&b["requests"], &b["errors"]),
                (&json!(0), &json!({"status": 10}))
            );
            assert_eq!(b["statuses"], json!({"404": 10}));
            let counts = [&a["latency"]["count"], &b["latency"]["count"]];
            assert_eq!(counts, [&json!(30), &json!(0)]);
        }
    }
}

/// A server whose replies depend on the path, and how it ends them.
fn redirecting(close: bool) -> (Server, Arc<Mutex<Vec<String>>>) {
    keeping(move |text| match path(text) {
        "/end" | "/dir/end" => OK.to_vec(),
        "/relative" => redirect(302, "dir/start", close),
        "/dir/start" => redirect(307, "./end?", close),
        "/dir/end?" => redirect(308, "http://here/end", close),
        "/see" => redirect(303, "/end", close),
        "/loop" => redirect(302, "/loop", close),
        "/away" => redirect(301, "http://elsewhere/end", close),
        "/secure" => redirect(301, "https://here/end", close),
        _ => b"HTTP/1.1 302 F\r\nContent-Length: 0\r\n\r\n".to_vec(),
    })
}

#[test]
fn redirects_are_followed_within_the_server() {
    for (close, own_close, pacing) in [
        (false, false, json!({"kind": "closed"})),
        (true, false, json!({"kind": "closed"})),
        (true, true, json!({"kind": "closed"})),
        (true, true, json!({"kind": "constant", "rate_per_s": 200})),
        (true, false, json!({"kind": "constant", "rate_per_s": 200})),
    ] {
        let (server, requests) = redirecting(close);
        let load = |target: &str, changes: Value| {
            let mut request = json!({
                "target": target, "headers": [["Host", "here"]], "follow_redirects": true,
                "close": own_close,
            });
            for (key, value) in changes.as_object().unwrap() {
                request[key] = value.clone();
            }
            both(&plan(
                &server,
                json!({"requests": 6, "request": request, "pacing": pacing, "expect": {"equals": "hello"}}),
            ))
        };
        for outcome in load("/relative", json!({})) {
            assert_eq!(outcome["outcome"], "ok", "{outcome:#}");
            assert_eq!(
                (&outcome["requests"], &outcome["errors"]),
                (&json!(6), &json!({}))
            );
            let statuses = json!({"200": 6, "302": 6, "307": 6, "308": 6});
            assert_eq!(outcome["statuses"], statuses);
            let times = &outcome["histograms"];
            for name in ["latency", "service", "first_byte"] {
                assert_eq!(times[name]["count"], 6, "{name}");
            }
            let (latency, first) = (&times["latency"]["min_ns"], &times["first_byte"]["min_ns"]);
            assert!(latency.as_u64() > first.as_u64(), "{outcome:#}");
        }
        requests.lock().unwrap().clear();
        for outcome in load("/see", json!({"method": "POST", "body": "abc"})) {
            assert_eq!(
                (&outcome["requests"], &outcome["errors"]),
                (&json!(6), &json!({}))
            );
        }
        for text in requests.lock().unwrap().iter() {
            let is_first = path(text) == "/see";
            assert_eq!(text.starts_with("POST "), is_first);
            assert_eq!(text.ends_with("\r\n\r\nabc"), is_first);
        }
        for (target, kind) in [
            ("/loop", "redirect-limit"),
            ("/away", "redirect-elsewhere"),
            ("/secure", "redirect-elsewhere"),
            ("/nowhere", "redirect-invalid"),
        ] {
            for outcome in load(target, json!({})) {
                assert_eq!(outcome["errors"], json!({ kind: 6 }), "{outcome:#}");
                assert_eq!(outcome["requests"], 0);
                let most = if kind == "redirect-limit" { 66 } else { 6 };
                let count: u64 = outcome["statuses"]
                    .as_object()
                    .unwrap()
                    .values()
                    .flat_map(Value::as_u64)
                    .sum();
                assert_eq!(count, most, "{outcome:#}");
            }
        }
    }
}

#[test]
fn plans_of_requests_that_cannot_be_sent() {
    let server = Server::replying(OK, false);
    let refused = |changes: Value, why: &str| {
        let output = start(&plan(&server, changes)).wait_with_output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(why), "{text}");
    };
    let request = json!({"target": "/{user}", "headers": [["Host", "here"]]});
    refused(
        json!({"request": request, "templates": {}}),
        "the placeholder {user} is unknown",
    );
    let templates = json!({"columns": ["user"], "rows": [["a", "b"]]});
    refused(
        json!({"request": request, "templates": templates}),
        "a row has other columns",
    );
    let weightless =
        json!({"targets": [{"target": "/", "weight": 0}], "headers": [["Host", "here"]]});
    refused(json!({ "request": weightless }), "weight: 1 to 1000");
    let stream = json!({"headers": [["Host", "here"]], "follow_redirects": true});
    refused(
        json!({"request": stream, "protocol": "stream", "duration_s": 1}),
        "for http only",
    );
}
