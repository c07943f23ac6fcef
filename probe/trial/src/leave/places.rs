//! Folders and kernel objects where programs may leave something: a temporary folder of their own, shared
//! memory of the probe's own, keyrings. The probe counts what a program leaves there, and no other program
//! finds it.

use crate::leave::shared_memory::SharedMemory;
use crate::leave::temporary::{sweep, Temporary};
use std::sync::Arc;
use wire::request::Request;
use wire::sys;

const TMPDIR: &str = "TMPDIR";

pub struct Places {
    pub shared: Option<Arc<SharedMemory>>,
    temporary: Option<Temporary>,
    /// The folder in which the folders of killed probes were removed.
    swept: Option<String>,
    /// The user's keys before the trial; None for a plain command, which may use them.
    keys: Option<Vec<i32>>,
}

impl Places {
    pub fn new(shared: Option<SharedMemory>) -> Places {
        Places { shared: shared.map(Arc::new), temporary: None, swept: None, keys: None }
    }

    /// Gives the program a temporary folder, where the request asks for one. Returns why it has none.
    pub fn prepare(&mut self, request: &mut Request) -> Option<String> {
        self.keys = (!request.plain).then(|| {
            sys::join_new_session_keyring();
            sys::user_keys()
        });
        if !request.temporary {
            return None;
        }
        let common = request.env.get(TMPDIR).map_or("/tmp", String::as_str);
        match self.temporary_below(common) {
            Ok(path) => {
                request.env.insert(TMPDIR.into(), path);
                None
            }
            // It then has the one that all share.
            Err(why) => Some(format!("temporary folder of the program's own: {why}")),
        }
    }

    fn temporary_below(&mut self, common: &str) -> std::io::Result<String> {
        if self.swept.as_deref() != Some(common) {
            sweep(common)?;
            self.swept = Some(common.to_owned());
            self.temporary = None;
        }
        let temporary = self.temporary.take().map_or_else(|| Temporary::new(common), Ok)?;
        Ok(self.temporary.insert(temporary).path.clone())
    }

    /// Counts the files, IPC objects and keys in its user's keyrings that a program has left, and removes the files of
    /// the temporary folder. Shared memory and keys, except root's, end with the probe, which must then carry out no
    /// other trial.
    pub fn clear(&mut self) -> u64 {
        let mut left = self.shared.as_ref().map_or(0, |shared| shared.objects());
        if let Some(before) = &self.keys {
            let now = sys::user_keys();
            left += now.iter().filter(|key| !before.contains(key)).count() as u64;
        }
        if let Some(temporary) = &self.temporary {
            let (count, is_usable) = temporary.clear();
            left += count;
            if !is_usable {
                self.temporary = None;
            }
        }
        left
    }
}
