//! Where programs may leave files: a temporary folder of their own, and shared memory of the probe's own. What a program
//! leaves there is counted, and no other program finds it.

use crate::request::Request;
use crate::shared_memory::SharedMemory;
use crate::temporary::{sweep, Temporary};
use std::sync::Arc;

const TMPDIR: &str = "TMPDIR";

pub struct Places {
    shared: Option<Arc<SharedMemory>>,
    temporary: Option<Temporary>,
    /// Where folders of killed probes were removed.
    swept: Option<String>,
}

impl Places {
    pub fn new(shared: Option<SharedMemory>) -> Places {
        Places {
            shared: shared.map(Arc::new),
            temporary: None,
            swept: None,
        }
    }

    /// Gives the program a temporary folder, where the request asks for one. Returns why it has none.
    pub fn prepare(&mut self, request: &mut Request) -> Option<String> {
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
        let temporary = match self.temporary.take() {
            Some(temporary) => temporary,
            None => Temporary::new(common)?,
        };
        Ok(self.temporary.insert(temporary).path.clone())
    }

    pub fn shared(&self) -> Option<Arc<SharedMemory>> {
        self.shared.clone()
    }

    /// How many files, and System V objects, a program has left. Those of the temporary folder are removed; shared memory
    /// ends with the probe, which must carry out no other trial then.
    pub fn clear(&mut self) -> u64 {
        let mut left = self.shared.as_ref().map_or(0, |shared| shared.objects());
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
