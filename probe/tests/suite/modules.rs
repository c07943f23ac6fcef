//! Sockets carry bytes: they know nothing about requests, replies and loads.

use std::path::Path;

fn check(folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            count += check(&path);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().map(|line| line.split("//").next().unwrap());
        for line in lines {
            for word in ["http", "websocket", "latency", "request", "crate::load", "trial::"] {
                assert!(!line.contains(word), "{path:?}: {line}");
            }
        }
        count += 1;
    }
    count
}

#[test]
fn io_knows_no_protocol() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("engine/src/io");
    assert!(check(&folder) >= 5);
}
