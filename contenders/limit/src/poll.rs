//! epoll, level-triggered: what was left is reported again.

use std::io;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData};
use rustix::event::Timespec;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

use crate::slab::Key;

pub use rustix::event::epoll::EventFlags as Interest;

/// The key of the mailbox's bell. No slab grows as large.
pub const BELL: Key = u64::MAX;

pub struct Poll {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poll {
    pub fn new(bell: impl AsFd) -> io::Result<Self> {
        let poll = Poll {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(1024),
        };
        poll.add(bell, BELL, Interest::IN)?;
        Ok(poll)
    }

    /// It is forgotten when it is closed.
    pub fn add(&self, fd: impl AsFd, key: Key, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            fd,
            EventData::new_u64(key),
            interest,
        )?)
    }

    pub fn change(&self, fd: impl AsFd, key: Key, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(
            &self.epoll,
            fd,
            EventData::new_u64(key),
            interest,
        )?)
    }

    /// Waits, for so long at most, and hands over what happened. The time has
    /// nanoseconds (epoll_pwait2): a tick is not a millisecond late.
    pub fn wait(
        &mut self,
        longest: Option<Duration>,
        happened: &mut Vec<(Key, Interest)>,
    ) -> io::Result<()> {
        let longest = longest.map(|duration| Timespec {
            tv_sec: duration.as_secs() as i64,
            tv_nsec: duration.subsec_nanos().into(),
        });
        self.events.clear();
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            longest.as_ref(),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        happened.clear();
        happened.extend(
            self.events
                .iter()
                .map(|event| (event.data.u64(), event.flags)),
        );
        Ok(())
    }
}
