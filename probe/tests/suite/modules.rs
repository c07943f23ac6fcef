//! The modules of the probe import each other without cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Modules by their paths, `load::shard::wait`; the crate's root is the empty path.
type Sources = BTreeMap<String, String>;

fn join(parent: &str, name: &str) -> String {
    match parent {
        "" => name.to_owned(),
        _ => format!("{parent}::{name}"),
    }
}

fn read_modules(folder: &Path, parent: &str, sources: &mut Sources) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() {
            read_modules(&path, &join(parent, name), sources);
            continue;
        }
        let module = match name {
            "main" | "mod" => parent.to_owned(),
            _ => join(parent, name),
        };
        let text = std::fs::read_to_string(&path).unwrap();
        // Tests may import any module.
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().map(|line| line.split("//").next().unwrap());
        sources.insert(module, lines.collect::<Vec<_>>().join("\n"));
    }
}

/// The paths of a use tree: `a::{b, c::d}` has `a::b` and `a::c::d`. Stops after the tree.
fn expand(text: &str, prefix: &str, paths: &mut Vec<String>) -> usize {
    let (mut path, mut at) = (prefix.to_owned(), 0);
    while let Some(next) = text[at..].chars().next() {
        match next {
            '{' => {
                at += 1;
                while !text[at..].starts_with('}') {
                    at += expand(&text[at..], &path, paths);
                    at += text[at..]
                        .find(|c: char| c != ',' && !c.is_whitespace())
                        .unwrap();
                }
                return at + 1;
            }
            ':' | '_' => path.push(next),
            _ if next.is_alphanumeric() => path.push(next),
            _ => break,
        }
        at += next.len_utf8();
    }
    paths.push(path);
    at.max(1)
}

/// The modules that a module imports: by `crate::`, by `super::`, and by the name of a child.
fn imports(module: &str, sources: &Sources) -> BTreeSet<String> {
    let text = &sources[module];
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut roots = vec![("crate".to_owned(), ""), ("super".to_owned(), parent)];
    for child in sources.keys() {
        if let Some(name) = child.strip_prefix(&join(module, "")) {
            if !name.is_empty() && !name.contains("::") {
                roots.push((name.to_owned(), module));
            }
        }
    }
    let mut imported = BTreeSet::new();
    for (root, base) in roots {
        for (at, word) in text.match_indices(&format!("{root}::")) {
            let before = text[..at].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || before == '_' || before == ':' {
                continue;
            }
            let mut paths = Vec::new();
            let start = match root.as_str() {
                "crate" | "super" => base.to_owned(),
                _ => join(base, &root),
            };
            expand(&text[at + word.len()..], &join(&start, ""), &mut paths);
            for path in paths {
                let mut path = path.trim_start_matches(':').to_owned();
                // The longest prefix that is a module; the rest names an item in it.
                while !sources.contains_key(&path) {
                    path = path
                        .rsplit_once("::")
                        .map_or(String::new(), |(start, _)| start.to_owned());
                }
                imported.insert(path);
            }
        }
    }
    imported.remove(module);
    imported
}

/// A cycle through the last module of the trail, where there is one.
fn find_cycle(
    graph: &BTreeMap<String, BTreeSet<String>>,
    trail: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    let module = trail.last().unwrap().clone();
    if done.contains(&module) {
        return None;
    }
    for next in &graph[&module] {
        if let Some(start) = trail.iter().position(|earlier| earlier == next) {
            return Some(trail[start..].to_vec());
        }
        trail.push(next.clone());
        if let Some(cycle) = find_cycle(graph, trail, done) {
            return Some(cycle);
        }
        trail.pop();
    }
    done.insert(module);
    None
}

fn cycle(sources: &Sources) -> Option<Vec<String>> {
    let modules = sources.keys();
    let graph: BTreeMap<_, _> = modules
        .map(|module| (module.clone(), imports(module, sources)))
        .collect();
    let mut done = BTreeSet::new();
    graph
        .keys()
        .find_map(|module| find_cycle(&graph, &mut vec![module.clone()], &mut done))
}

#[test]
fn modules_import_each_other_without_cycles() {
    let mut sources = Sources::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    read_modules(&folder, "", &mut sources);
    assert!(sources.len() > 40, "{:?}", sources.keys());
    let events = imports("load::shard::state::events", &sources);
    let needed = [
        "clock",
        "load::shard::wait",
        "load::decoder",
        "io",
        "load::shard::state",
    ];
    for module in needed {
        assert!(events.contains(module), "{events:?}");
    }
    assert_eq!(cycle(&sources), None);
}

/// The back-ends carry bytes: of requests, replies and loads they know nothing.
#[test]
fn io_knows_no_protocol() {
    let mut sources = Sources::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    read_modules(&folder, "", &mut sources);
    let is_io = |module: &str| module == "io" || module.starts_with("io::");
    let modules: Vec<_> = sources.keys().filter(|module| is_io(module)).collect();
    assert!(modules.len() >= 9, "{modules:?}");
    for module in modules {
        let imported = imports(module, &sources);
        let foreign: Vec<_> = imported
            .iter()
            .filter(|imported| !is_io(imported) && *imported != "clock")
            .collect();
        assert!(foreign.is_empty(), "{module} imports {foreign:?}");
        let code = sources[module].to_lowercase();
        for word in ["http", "websocket", "latency", "request"] {
            assert!(!code.contains(word), "{module} has {word}");
        }
    }
}

#[test]
fn cycles_are_found_in_every_form() {
    let with = |texts: &[(&str, &str)]| {
        let texts = texts.iter();
        let sources = texts.map(|&(module, text)| (module.to_owned(), text.to_owned()));
        cycle(&sources.collect()).map(|cycle| cycle.len())
    };
    let pair = |text| {
        let first = [("", "a::run();"), ("a", "use crate::b::{X, Y};")];
        with(&[&first[..], &[("b", text), ("c", "")]].concat())
    };
    assert_eq!(pair("use crate::c;"), None);
    assert_eq!(pair("use crate::{a, c};"), Some(2));
    assert_eq!(pair("fn f() { crate::a::g() }"), Some(2));
    assert_eq!(pair("use super::{c, a::{X, Y}};"), Some(2));
    let child = |text| with(&[("", ""), ("a", "use b::X;"), ("a::b", text)]);
    assert_eq!(child("use super::X;"), Some(2));
    assert_eq!(child("use std::a;"), None);
}
