//! Shared by the programs.

pub mod service;
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

/// A runtime with so many worker threads. The program runs as a task on one of them: what `block_on` runs itself
/// is on the main thread, and each of its messages would wake another thread.
pub fn run<F>(cores: usize, program: F)
where
    F: std::future::Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores)
        .enable_all()
        .build()
        .expect("threads can be started");
    let main = runtime.spawn(program);
    runtime.block_on(main).expect("the program does not panic");
}

/// A line on stdin, or its end, which is as good.
pub async fn line_from_stdin() {
    let _ = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await;
}
