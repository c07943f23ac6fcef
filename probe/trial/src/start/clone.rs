//! The clone of this process that becomes the launcher, or the program. On x86-64 it uses the memory of this process
//! until then, as after vfork: to copy page tables, and then to move the copy to another CPU, takes longer than all else
//! of a start.
#![allow(unsafe_code)]

use std::convert::Infallible;
use std::io;

/// libc declares it as a C int, which has no such bit.
pub const CLONE_INTO_CGROUP: u64 = 1 << 33;

#[repr(C)]
#[derive(Default)]
pub struct CloneArgs {
    pub flags: u64,
    pub pidfd: u64,
    pub child_tid: u64,
    pub parent_tid: u64,
    pub exit_signal: u64,
    pub stack: u64,
    pub stack_size: u64,
    pub tls: u64,
    pub set_tid: u64,
    pub set_tid_size: u64,
    pub cgroup: u64,
}

#[cfg(target_arch = "x86_64")]
const STACK_BYTES: usize = 32 << 10;

/// Of a stack, when a function is called.
#[cfg(target_arch = "x86_64")]
const ALIGNMENT: usize = 16;

/// A child with the memory of this process, which waits until the child is the program or has ended. Returns its pid.
/// `run`: in the child; it makes system calls only, and does not return.
#[cfg(target_arch = "x86_64")]
pub fn clone<F: Fn() -> Infallible>(args: CloneArgs, run: &F) -> io::Result<i32> {
    // On the stack of this process the child would destroy the frames to which this process returns.
    let mut stack = Vec::<u8>::with_capacity(STACK_BYTES + ALIGNMENT);
    let begin = stack.as_mut_ptr() as usize;
    let args = CloneArgs {
        flags: args.flags | (libc::CLONE_VM | libc::CLONE_VFORK) as u64,
        stack: ((begin + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT) as u64,
        stack_size: STACK_BYTES as u64,
        ..args
    };
    let result: i64;
    // SAFETY: the kernel gives the child the end of `stack`, which outlives it here: this process, which has one
    // thread, waits in the call until the child has other memory or is gone. The child calls `entry` with `run`,
    // which never returns, and writes to its own stack and to errno only. In this process the call keeps all
    // registers but those that are named.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 => result,
            in("rdi") &args,
            in("rsi") std::mem::size_of::<CloneArgs>(),
            in("r12") run as *const F,
            in("r13") entry::<F> as extern "C" fn(*const F) -> !,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    // A child that was killed meanwhile may have left the files of this process visible.
    let _ = wire::sys::hide_from_others();
    drop(stack);
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result as i32));
    }
    Ok(result as i32)
}

#[cfg(target_arch = "x86_64")]
extern "C" fn entry<F: Fn() -> Infallible>(run: *const F) -> ! {
    // SAFETY: the closure lies in the frames of the caller of `clone`, which waits.
    match unsafe { (*run)() } {}
}

/// A child with a copy of the memory of this process. Returns its pid. `run`: in the child; it makes system calls only,
/// and does not return.
#[cfg(not(target_arch = "x86_64"))]
pub fn clone<F: Fn() -> Infallible>(args: CloneArgs, run: &F) -> io::Result<i32> {
    // SAFETY: without CLONE_VM and with no stack this is a fork. This process has one thread, so no lock can be
    // held by another; the child only makes the system calls in `run`.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &args as *const CloneArgs,
            std::mem::size_of::<CloneArgs>(),
        )
    };
    match pid {
        0 => match run() {},
        pid if pid > 0 => Ok(pid as i32),
        _ => Err(io::Error::last_os_error()),
    }
}
