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
        let mut buffers = Buffers {
            ring: SharedMemory::new(usize::from(BUFFERS) * std::mem::size_of::<Entry>()),
            bytes: SharedMemory::new(usize::from(BUFFERS) * BUFFER_BYTES),
            tail: 0,
        };
        let address = buffers.ring.start.as_ptr() as u64;
        // SAFETY: the memory holds BUFFERS entries, and outlives all receives, see `Drop for Uring`.
        unsafe {
            ring.register_buf_ring_with_flags(address, BUFFERS, GROUP, 0)?;
        }
        for buffer in 0..BUFFERS {
            buffers.give_back(buffer);
        }
        buffers.publish();
        Ok(buffers)
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
