//! The launcher, and what it starts: code that runs in children of the probe. It only makes system calls, and those without
//! the C library: each page of code that a process touches is part of its size.

use crate::start::launcher::{Order, Step};
use libc::c_long;
use std::mem::{size_of, size_of_val, MaybeUninit};
use std::os::unix::io::RawFd;
use wire::os::CloneArgs;

/// Some hosts allow a thousand million, and some runtimes allocate a table for all descriptors allowed.
const MAX_FILES: u64 = 1 << 20;

/// libc has no name for it.
const CAP_SYS_PTRACE: usize = 19;

/// The kernel's first victim for want of memory is the program, never the probe.
const OOM_SCORE: &[u8] = b"1000";

/// libc declares it as a C int, which has no such bit.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// A system call, by its name in libc: a negative number is an error.
macro_rules! call {
    ($name:ident $(, $argument:expr)*) => {
        system_call(libc::$name, [$($argument as usize),*])
    };
}

/// The launcher: starts a program whenever it is asked to, until it is killed or the probe ends.
///
/// # Safety
/// Only in a child of the probe: system calls, no allocation, no panic. As all that follows.
pub unsafe fn serve(order: *mut Order, socket: RawFd) -> ! {
    prepare(&*order);
    let byte = &mut 0u8 as *mut u8;
    while call!(SYS_read, socket, byte, 1) == 1 {
        let order = &mut *order;
        let mut args = CloneArgs {
            flags: (libc::CLONE_PARENT | libc::CLONE_PARENT_SETTID | libc::CLONE_VFORK) as u64,
            parent_tid: &mut order.pid as *mut i32 as u64,
            ..CloneArgs::default()
        };
        if order.cgroup != 0 {
            args.flags |= CLONE_INTO_CGROUP;
            args.cgroup = order.cgroup as u64;
        }
        let mut time = [0u64; 2];
        // Before the clone, since its CPU time begins there.
        call!(SYS_clock_gettime, libc::CLOCK_MONOTONIC, time.as_mut_ptr());
        order.start_ns = time[0] * 1_000_000_000 + time[1];
        let done = clone_program(&mut args, order);
        if done < 0 {
            (order.pid, order.error) = (0, -done as i32);
        }
        // Includes the memory that the new process touched before it executed the program.
        let mut usage = MaybeUninit::<libc::rusage>::zeroed().assume_init();
        call!(SYS_getrusage, libc::RUSAGE_SELF, &mut usage as *mut _);
        order.floor_bytes = usage.ru_maxrss as u64 * 1024;
        call!(SYS_write, socket, byte, 1);
    }
    exit()
}

/// Starts a program without a launcher, in a fork of the probe.
pub unsafe fn fork(order: *mut Order) {
    match call!(SYS_clone, libc::CLONE_VFORK | libc::SIGCHLD) {
        0 => {
            prepare(&*order);
            become_program(order)
        }
        pid if pid > 0 => (*order).pid = pid as i32,
        error => (*order).error = -error as i32,
    }
}

/// Prepares what each program inherits from the launcher.
unsafe fn prepare(order: &Order) {
    // A session of its own: a signal from the terminal is for the probe.
    call!(SYS_setsid);
    end_with_probe(order);
    if !order.plain {
        // Without effect where the kernel or the user's rights do not allow it: the trial itself needs neither.
        call!(SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1);
        call!(SYS_prctl, libc::PR_CAPBSET_DROP, CAP_SYS_PTRACE);
    }
    // The probe hides its own files below /proc, and so this process, whose memory is a copy of the probe's, hides its
    // own. It hides them again before it executes the program, whose files the kernel then shows.
    call!(SYS_prctl, libc::PR_SET_DUMPABLE, 1);
    let path = b"/proc/self/oom_score_adj\0".as_ptr();
    let flags = libc::O_WRONLY | libc::O_CLOEXEC;
    let score = call!(SYS_openat, libc::AT_FDCWD, path, flags);
    if score >= 0 {
        call!(SYS_write, score, OOM_SCORE.as_ptr(), OOM_SCORE.len());
        call!(SYS_close, score);
    }
    call!(SYS_prctl, libc::PR_SET_DUMPABLE, 0);
    // Not 0, which the kernel ignores where core_pattern is a pipe: it starts that program, outside of the trial.
    call!(SYS_prlimit64, 0, libc::RLIMIT_CORE, &[1u64, 1] as *const _);
    if order.many_files {
        let files = &mut [0u64; 2] as *mut [u64; 2];
        call!(SYS_prlimit64, 0, libc::RLIMIT_NOFILE, 0, files);
        (*files)[0] = (*files)[1].min(MAX_FILES);
        call!(SYS_prlimit64, 0, libc::RLIMIT_NOFILE, files);
    }
    // Zeroes are SIG_DFL in the kernel's own struct, which is shorter than this; and an empty set of signals.
    let (zeroes, set_bytes) = (&[0u64; 8] as *const u64, size_of::<u64>());
    for signal in 1..=64 {
        call!(SYS_rt_sigaction, signal, zeroes, 0, set_bytes);
    }
    call!(SYS_rt_sigprocmask, libc::SIG_SETMASK, zeroes, 0, set_bytes);
}

/// In the cloned process.
unsafe extern "C" fn become_program(order: *mut Order) -> ! {
    let order = &mut *order;
    // A session of its own: its groups can be killed without hitting other processes. A fork of the probe has one.
    call!(SYS_setsid);
    end_with_probe(order);
    for (number, file) in order.files.into_iter().enumerate() {
        let done = call!(SYS_dup3, file, number, 0);
        order.check(Step::Setup, done);
    }
    // Files that the probe itself inherited are not the program's. Old kernels lack the call: our own are CLOEXEC anyway.
    let flag = libc::CLOSE_RANGE_CLOEXEC;
    call!(SYS_close_range, 3, u32::MAX, flag);
    let done = call!(SYS_chdir, order.cwd);
    order.check(Step::Folder, done);
    if order.procs != 0 {
        order.unmoved = -call!(SYS_write, order.procs, b"0".as_ptr(), 1) as i32;
    }
    // Last: what it uses is in the caches of the probe's CPU.
    if let Some(set) = &order.cpus {
        let done = call!(SYS_sched_setaffinity, 0, size_of_val(set), set as *const _);
        order.check(Step::Affinity, done);
    }
    let missing = [libc::ENOENT, libc::ENOTDIR].map(|error| -error as isize);
    let (mut path, mut error) = (order.paths, missing[0]);
    while !(*path).is_null() {
        let done = call!(SYS_execve, *path, order.argv, order.env);
        // As execvp does: a file without permission is reported before one that does not exist.
        if !missing.contains(&done) {
            error = done;
            if done != -libc::EACCES as isize {
                break;
            }
        }
        path = path.add(1);
    }
    order.check(Step::Exec, error);
    exit()
}

impl Order {
    /// Ends this process where a step has failed.
    unsafe fn check(&mut self, step: Step, done: isize) {
        if done < 0 {
            (self.failed, self.error) = (Some(step), -done as i32);
            exit();
        }
    }
}

unsafe fn end_with_probe(order: &Order) {
    call!(SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    // The probe may have died before: then no signal comes.
    if call!(SYS_getppid) != order.parent as isize {
        exit();
    }
}

unsafe fn exit() -> ! {
    loop {
        call!(SYS_exit_group, 127);
    }
}

/// The program, with the memory of the launcher, which waits until it is executed or has ended. Returns its process id.
#[cfg(target_arch = "x86_64")]
unsafe fn clone_program(args: &mut CloneArgs, order: *mut Order) -> isize {
    #[repr(align(16))]
    struct Stack(#[allow(dead_code)] [u8; 16 << 10]);
    // On the stack of the launcher it would destroy the frames to which the launcher returns.
    let mut stack = MaybeUninit::<Stack>::uninit();
    args.flags |= libc::CLONE_VM as u64;
    args.stack = stack.as_mut_ptr() as u64;
    args.stack_size = size_of::<Stack>() as u64;
    let result: isize;
    // In the launcher the call keeps all registers but those that are named.
    std::arch::asm!(
        "syscall",
        "test rax, rax",
        "jnz 2f",
        "xor ebp, ebp",
        "mov rdi, r12",
        "call {program}",
        "ud2",
        "2:",
        program = sym become_program,
        inlateout("rax") libc::SYS_clone3 as isize => result,
        in("rdi") args as *mut CloneArgs,
        in("rsi") size_of::<CloneArgs>(),
        in("r12") order,
        lateout("rcx") _,
        lateout("r11") _,
    );
    result
}

/// The program, with a copy of the memory of the launcher.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn clone_program(args: &mut CloneArgs, order: *mut Order) -> isize {
    match call!(SYS_clone3, args as *mut _, size_of::<CloneArgs>()) {
        0 => become_program(order),
        result => result,
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn system_call<const N: usize>(number: c_long, arguments: [usize; N]) -> isize {
    let argument = |index| arguments.get(index).copied().unwrap_or(0);
    let result: isize;
    std::arch::asm!(
        "syscall",
        inlateout("rax") number as isize => result,
        in("rdi") argument(0),
        in("rsi") argument(1),
        in("rdx") argument(2),
        in("r10") argument(3),
        in("r8") argument(4),
        lateout("rcx") _,
        lateout("r11") _,
    );
    result
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn system_call<const N: usize>(number: c_long, arguments: [usize; N]) -> isize {
    let argument = |index| arguments.get(index).copied().unwrap_or(0);
    let (first, second, third) = (argument(0), argument(1), argument(2));
    match libc::syscall(number, first, second, third, argument(3), argument(4)) {
        -1 => -(*libc::__errno_location() as isize),
        done => done as isize,
    }
}
