//! Shared by the programs.

pub mod settings;

use std::io::Write;
use std::process::exit;

/// Writes a protocol line at once.
pub fn report(line: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_fmt(line).and_then(|()| writeln!(out)) {
        eprintln!("cannot write to stdout: {error}");
        exit(1);
    }
}

/// A line on stdin, or its end, which is as good.
pub fn line_from_stdin() {
    let _ = std::io::stdin().read_line(&mut String::new());
}
