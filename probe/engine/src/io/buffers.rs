//! The buffers into which io_uring receives, and the ring through which the kernel gets them. The kernel reads the ring
//! and writes the buffers at any time, so both are accessed through raw pointers: references are formed only to a
//! buffer that the kernel has handed over.
#![allow(unsafe_code)]

use io_uring::types::BufRingEntry;
use io_uring::Submitter;
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::io;
use std::ptr::{addr_of_mut, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};

/// Few enough to stay in a cache: the kernel takes them in turn.
const BUFFERS: u16 = 512;
const BUFFER_BYTES: usize = 4096;
pub const GROUP: u16 = 0;

/// An entry of the ring, as the kernel's struct io_uring_buf.
#[repr(C)]
struct Entry {
    address: u64,
    length: u32,
    buffer: u16,
    /// In the first entry, the tail of the ring.
    _tail: u16,
}

const _: () = assert!(std::mem::size_of::<Entry>() == std::mem::size_of::<BufRingEntry>());

/// Zeroed memory that is shared with the kernel.
struct SharedMemory {
    start: NonNull<u8>,
    layout: Layout,
    leaked: bool,
}

impl SharedMemory {
    fn new(bytes: usize) -> SharedMemory {
        // Aligned to a page, as the kernel requires it of the ring.
        let layout = Layout::from_size_align(bytes, 4096).expect("the size is a constant");
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        SharedMemory {
            start,
            layout,
            leaked: false,
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        if !self.leaked {
            // SAFETY: allocated with this layout, and freed once.
            unsafe { dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}

pub struct Buffers {
    ring: SharedMemory,
    bytes: SharedMemory,
    tail: u16,
}

impl Buffers {
    /// Registers buffers with a ring. They must not be dropped while receives of the ring are pending.
    pub fn new(ring: Submitter<'_>) -> io::Result<Buffers> {
        let buffers = Buffers::filled();
        let address = buffers.ring.start.as_ptr() as u64;
        // SAFETY: the memory holds BUFFERS entries, and outlives all receives, see `Drop for Uring`.
        unsafe {
            ring.register_buf_ring_with_flags(address, BUFFERS, GROUP, 0)?;
        }
        Ok(buffers)
    }

    /// The memory, with all buffers given to the kernel.
    fn filled() -> Buffers {
        let mut buffers = Buffers {
            ring: SharedMemory::new(usize::from(BUFFERS) * std::mem::size_of::<Entry>()),
            bytes: SharedMemory::new(usize::from(BUFFERS) * BUFFER_BYTES),
            tail: 0,
        };
        for buffer in 0..BUFFERS {
            buffers.give_back(buffer);
        }
        buffers.publish();
        buffers
    }

    fn buffer(&self, buffer: u16) -> *mut u8 {
        assert!(buffer < BUFFERS);
        // SAFETY: the offset is within the allocation.
        unsafe {
            let start = self.bytes.start.as_ptr();
            start.add(usize::from(buffer) * BUFFER_BYTES)
        }
    }

    /// The received bytes in a buffer that the kernel has handed over.
    pub fn bytes(&self, buffer: u16, count: usize) -> &[u8] {
        assert!(count <= BUFFER_BYTES);
        // SAFETY: within the buffer, which was initialised with zeroes. The kernel does not write to it before
        // `give_back`, which needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.buffer(buffer), count) }
    }

    /// Gives a buffer to the kernel, from the next `publish` on.
    pub fn give_back(&mut self, buffer: u16) {
        let index = usize::from(self.tail & (BUFFERS - 1));
        let address = self.buffer(buffer) as u64;
        // SAFETY: the index is within the ring; the kernel does not read the entry before the tail passes it; no
        // reference is formed, and the tail in the first entry is not touched.
        unsafe {
            let entry = self.ring.start.as_ptr().cast::<Entry>().add(index);
            addr_of_mut!((*entry).address).write(address);
            addr_of_mut!((*entry).length).write(BUFFER_BYTES as u32);
            addr_of_mut!((*entry).buffer).write(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    pub fn publish(&mut self) {
        let entries = self.ring.start.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the tail is in the ring's first entry and aligned; it is only accessed atomically. The pointer
        // comes from the allocation, so that it may be written through.
        let tail = unsafe { &*BufRingEntry::tail(entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }

    /// Never frees the memory.
    pub fn leak(&mut self) {
        self.ring.leaked = true;
        self.bytes.leaked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's side: it takes buffers in the order of the ring, up to the published tail, and writes into them.
    struct Kernel {
        ring: *const Entry,
        head: u16,
    }

    impl Kernel {
        fn of(buffers: &Buffers) -> Kernel {
            let ring = buffers.ring.start.as_ptr().cast::<Entry>().cast_const();
            Kernel { ring, head: 0 }
        }

        fn tail(&self) -> u16 {
            // SAFETY: the ring outlives this; the tail is accessed atomically.
            unsafe {
                (*std::ptr::addr_of!((*self.ring)._tail).cast::<AtomicU16>())
                    .load(Ordering::Acquire)
            }
        }

        /// Receives bytes into the next buffer, where one is published. Its number.
        fn receive(&mut self, bytes: &[u8]) -> Option<u16> {
            if self.head == self.tail() {
                return None;
            }
            let index = usize::from(self.head & (BUFFERS - 1));
            self.head = self.head.wrapping_add(1);
            // SAFETY: the index is within the ring, and the entry is published.
            let (address, length, buffer) = unsafe {
                let entry = self.ring.add(index);
                ((*entry).address, (*entry).length, (*entry).buffer)
            };
            assert!(bytes.len() <= length as usize);
            // SAFETY: the entry names a buffer of this length, which the program has given back.
            unsafe { (address as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            Some(buffer)
        }
    }

    #[test]
    fn buffers_go_round() {
        let mut buffers = Buffers::filled();
        let mut kernel = Kernel::of(&buffers);
        // Until the 16 bits of the tail have begun again.
        let count = 70_000 / if cfg!(miri) { 10 } else { 1 };
        if cfg!(miri) {
            let near = u16::MAX - 3000;
            (buffers.tail, kernel.head) = (near, near - BUFFERS);
            buffers.publish();
        }
        let mut seen = vec![0u32; usize::from(BUFFERS)];
        for number in 0..count {
            let bytes = [number as u8; 9];
            let buffer = kernel.receive(&bytes).unwrap();
            assert_eq!(buffers.bytes(buffer, 9), bytes);
            seen[usize::from(buffer)] += 1;
            buffers.give_back(buffer);
            buffers.publish();
        }
        // They are taken in turn.
        let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
        assert!(most - least <= 1, "{least} {most}");
    }

    #[test]
    fn only_what_is_published_is_the_kernels() {
        let mut buffers = Buffers::filled();
        let mut kernel = Kernel::of(&buffers);
        let whole = [7; BUFFER_BYTES];
        let taken: Vec<u16> = std::iter::from_fn(|| kernel.receive(&whole)).collect();
        assert_eq!(taken, (0..BUFFERS).collect::<Vec<u16>>());
        // The last byte of each is its own.
        for &buffer in &taken {
            assert_eq!(buffers.bytes(buffer, BUFFER_BYTES), whole);
        }
        buffers.give_back(300);
        assert_eq!(kernel.receive(b"x"), None);
        buffers.publish();
        assert_eq!(kernel.receive(b"x"), Some(300));
        assert_eq!(kernel.receive(b"x"), None);
        assert_eq!(buffers.bytes(300, 2), b"x\x07");
        assert_eq!(buffers.bytes(299, 2), b"\x07\x07");
    }

    #[test]
    fn memory_that_the_kernel_may_use_is_not_freed() {
        let mut buffers = Buffers::filled();
        let mut kernel = Kernel::of(&buffers);
        let parts = [&buffers.ring, &buffers.bytes].map(|memory| (memory.start, memory.layout));
        buffers.leak();
        drop(buffers);
        assert_eq!(kernel.receive(b"late"), Some(0));
        for (start, layout) in parts {
            drop(SharedMemory {
                start,
                layout,
                leaked: false,
            });
        }
    }

    #[test]
    #[should_panic(expected = "buffer < BUFFERS")]
    fn there_is_no_buffer_beyond_the_last() {
        Buffers::filled().bytes(BUFFERS, 1);
    }

    #[test]
    #[should_panic(expected = "count <= BUFFER_BYTES")]
    fn no_message_is_larger_than_its_buffer() {
        Buffers::filled().bytes(0, BUFFER_BYTES + 1);
    }
}
