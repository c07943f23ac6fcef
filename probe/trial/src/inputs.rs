//! Files that the program reads: brought into the page cache before it starts, or taken out of it, so that a
//! trial does not depend on what ran before.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use wire::os::fadvise;
use wire::request::Input;
use wire::sys;
use wire::text::quoted;

/// Brings all inputs into the state that the request asks for. Returns what could not be done; the error names a
/// file that cannot be read.
pub fn prepare(inputs: &[Input]) -> Result<Vec<String>, String> {
    let mut missing = Vec::new();
    for input in inputs {
        let path = &input.path;
        let share = prepare_file(input).map_err(|error| format!("inputs: {}: {error}", quoted(path)))?;
        let (wanted, word) = if input.cached { (1.0, "only") } else { (0.0, "still") };
        if let Some(share) = share.filter(|share| (share - wanted).abs() > 0.01) {
            let percent = share * 100.0;
            missing.push(format!("page cache: {word} {percent:.0} % of {} lies in it", quoted(path)));
        }
    }
    Ok(missing)
}

/// Returns the share of the file that is in the page cache afterwards; None if it is not known.
fn prepare_file(input: &Input) -> io::Result<Option<f64>> {
    let mut file = open(&input.path)?;
    let bytes = file.metadata()?.len();
    if input.cached {
        let mut buffer = vec![0; 1 << 20];
        while file.read(&mut buffer)? > 0 {}
    } else {
        // The kernel drops only pages that are on the disk.
        file.sync_all()?;
        fadvise(&file, libc::POSIX_FADV_DONTNEED)?;
    }
    Ok(sys::cached_share(&file, bytes))
}

/// A pipe may never get a writer, and a device may have no end: reading them would keep the probe for ever.
fn open(path: &str) -> io::Result<File> {
    // Without the flag, opening a named pipe waits for its writer.
    let flags = libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn existing_and_missing_files() {
        let folder = TestFolder::new();
        let path = folder.path().join("input");
        std::fs::write(&path, vec![b'x'; 3 << 20]).unwrap();
        let input = |cached| Input { path: path.to_str().unwrap().into(), cached };
        let warm = prepare_file(&input(true)).unwrap();
        assert_eq!(warm, Some(1.0));
        assert_eq!(prepare(&[input(true)]).unwrap(), Vec::<String>::new());
        // On tmpfs nothing can be dropped; that is reported.
        let cold = prepare_file(&input(false)).unwrap().unwrap();
        let missing = prepare(&[input(false)]).unwrap();
        assert_eq!(missing.is_empty(), cold < 0.01, "{cold}: {missing:?}");
        std::fs::remove_file(&path).unwrap();
        let error = prepare(&[input(true)]).unwrap_err();
        assert!(error.starts_with("inputs: '/") && error.contains("No such file"), "{error}");
    }

    #[test]
    fn nothing_of_an_empty_file_is_missing() {
        let folder = TestFolder::new();
        let path = folder.path().join("empty");
        std::fs::write(&path, "").unwrap();
        for cached in [true, false] {
            let path = path.to_str().unwrap().into();
            assert!(prepare(&[Input { path, cached }]).unwrap().is_empty());
        }
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let folder = TestFolder::new();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        for path in [pipe.to_str().unwrap(), "/dev/zero", "/"] {
            for cached in [true, false] {
                let path = path.into();
                let error = prepare(&[Input { path, cached }]).unwrap_err();
                assert!(error.ends_with("': not a regular file"), "{error}");
            }
        }
    }
}
