//! The process that starts the program. A program begins with the largest size (RSS) of the process that it was cloned
//! from, and that of the probe is more than many programs ever have. So the probe executes a file of some hundred
//! bytes, made in memory, which clones the program as a child of the probe. What it inherits is as the program needs it.
#![allow(unsafe_code)]

use crate::start::clone::{CloneArgs, CLONE_INTO_CGROUP};
use crate::start::spawn_step::{SpawnStep, REPORT_BYTES};
use libc::c_char;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::unix::fs::FileExt;
use std::os::unix::io::{AsRawFd, RawFd};
use std::ptr;
use std::time::{Duration, Instant};
use wire::clock;
use wire::os::memfd_create;

/// Where the file and the result are in its memory.
const ADDRESS: u64 = 0x40_0000;
const RESULT_ADDRESS: u64 = 0x80_0000;

const PAGE: usize = 4096;

const ELF_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;

/// What the code reads lies between the headers and it: the arguments of clone3, then these numbers.
const PARAMETERS: usize = ELF_HEADER + PROGRAM_HEADER;
const FILE: usize = size_of::<CloneArgs>();
const OFFSET: usize = FILE + 8;
const REPORT: usize = FILE + 16;
const PARENT: usize = FILE + 24;
const CGROUP: usize = FILE + 32;
const PATHS: usize = FILE + 40;
/// The size of the set of CPUs, 0 without one, and the set.
const CPUS_BYTES: usize = FILE + 48;
const CPUS: usize = FILE + 56;
const CODE: usize = PARAMETERS + CPUS + size_of::<libc::cpu_set_t>();

/// In the result, after the start (a timespec): the program's number, which the kernel writes before the program runs,
/// or a negative error.
const NUMBER: usize = 16;

pub struct Launcher {
    file: File,
    result_offset: u64,
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .rodata.ringside_launcher, \"a\"",
    ".globl ringside_launcher_begin, ringside_launcher_end",
    "ringside_launcher_begin:",
    "mov ebx, {parameters}",
    "lea r12, [rsp + 8]", // argv
    "mov rax, [rsp]",
    "lea r13, [rsp + rax * 8 + 16]", // envp
    // mmap(RESULT_ADDRESS, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, offset)
    "mov eax, 9",
    "mov edi, {result}",
    "mov esi, {page}",
    "mov edx, 3",
    "mov r10d, 0x11",
    "mov r8, [rbx + {file}]",
    "mov r9, [rbx + {offset}]",
    "syscall",
    "cmp rax, rdi",
    "jne 9f",
    // close(file)
    "mov eax, 3",
    "mov rdi, [rbx + {file}]",
    "syscall",
    // clock_gettime(CLOCK_MONOTONIC, result): before the clone, since its CPU time begins there.
    "mov eax, 228",
    "mov edi, 1",
    "mov esi, {result}",
    "syscall",
    // clone3: without a stack the child has this one, while this process waits.
    "mov eax, 435",
    "mov rdi, rbx",
    "mov esi, {clone_size}",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "jns 9f",
    "mov esi, {result}",
    "mov [rsi + {number}], eax",
    "jmp 9f",
    "2:",
    "mov r9d, {setup}",
    // new_session()
    "mov eax, 112",
    "syscall",
    "mov ebp, eax",
    "test rax, rax",
    "js 8f",
    // prctl(PR_SET_PDEATHSIG, SIGKILL)
    "mov eax, 157",
    "mov edi, 1",
    "mov esi, 9",
    "syscall",
    "mov ebp, eax",
    "test rax, rax",
    "jnz 8f",
    // parent_id(): the probe may have died before.
    "mov eax, 110",
    "syscall",
    "cmp rax, [rbx + {parent}]",
    "jne 9f",
    // close(cgroup)
    "mov eax, 3",
    "mov rdi, [rbx + {cgroup}]",
    "syscall",
    // fcntl(report, F_SETFD, FD_CLOEXEC)
    "mov eax, 72",
    "mov rdi, [rbx + {report}]",
    "mov esi, 2",
    "mov edx, 1",
    "syscall",
    // sched_setaffinity(0, size, set): not before, so that the launcher begins and ends on a CPU of the probe.
    "mov rsi, [rbx + {cpus_bytes}]",
    "test rsi, rsi",
    "jz 6f",
    "mov r9d, {affinity}",
    "mov eax, 203",
    "xor edi, edi",
    "lea rdx, [rbx + {cpus}]",
    "syscall",
    "mov ebp, eax",
    "test eax, eax",
    "js 8f",
    "6:",
    // execve of each path in turn, as execvp does.
    "mov r9d, {exec}",
    "mov r14, [rbx + {paths}]",
    "xor r15d, r15d",
    "mov ebp, -2",
    "3:",
    "cmp byte ptr [r14], 0",
    "je 5f",
    "mov eax, 59",
    "mov rdi, r14",
    "mov rsi, r12",
    "mov rdx, r13",
    "syscall",
    "mov ebp, eax",
    "cmp eax, -2", // ENOENT
    "je 4f",
    "cmp eax, -20", // ENOTDIR
    "je 4f",
    "cmp eax, -13", // EACCES
    "jne 8f",
    "mov r15d, eax",
    "4:",
    "inc r14",
    "cmp byte ptr [r14 - 1], 0",
    "jne 4b",
    "jmp 3b",
    "5:",
    "test r15d, r15d",
    "cmovnz ebp, r15d",
    // write(report, step and errno)
    "8:",
    "neg ebp",
    "sub rsp, 16",
    "mov [rsp], r9b",
    "mov [rsp + 1], ebp",
    "mov eax, 1",
    "mov rdi, [rbx + {report}]",
    "mov rsi, rsp",
    "mov edx, {report_bytes}",
    "syscall",
    // exit_group(127)
    "9:",
    "mov eax, 231",
    "mov edi, 127",
    "syscall",
    "ud2",
    "ringside_launcher_end:",
    ".popsection",
    parameters = const ADDRESS + PARAMETERS as u64,
    result = const RESULT_ADDRESS,
    number = const NUMBER,
    page = const PAGE,
    clone_size = const size_of::<CloneArgs>(),
    file = const FILE,
    offset = const OFFSET,
    report = const REPORT,
    parent = const PARENT,
    cgroup = const CGROUP,
    paths = const PATHS,
    cpus_bytes = const CPUS_BYTES,
    cpus = const CPUS,
    affinity = const SpawnStep::Affinity as u8,
    setup = const SpawnStep::Setup as u8,
    exec = const SpawnStep::Exec as u8,
    report_bytes = const REPORT_BYTES,
);

#[cfg(target_arch = "x86_64")]
fn code() -> Option<&'static [u8]> {
    extern "C" {
        static ringside_launcher_begin: u8;
        static ringside_launcher_end: u8;
    }
    // SAFETY: the assembler has put both symbols into one section, in this order.
    unsafe {
        let begin = ptr::addr_of!(ringside_launcher_begin);
        let end = ptr::addr_of!(ringside_launcher_end);
        let size = end as usize - begin as usize;
        Some(std::slice::from_raw_parts(begin, size))
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn code() -> Option<&'static [u8]> {
    None
}

/// More than its size: some pages, and what it hands to the program.
pub fn size_bytes(argv: &[CString], env: &[CString]) -> u64 {
    let texts = argv.iter().chain(env);
    let arguments: usize = texts
        .map(|text| text.as_bytes_with_nul().len() + size_of::<u64>())
        .sum();
    (64 << 10) + arguments as u64
}

impl Launcher {
    /// `report`: gets failures of the program's start. `cgroup`: its folder, where the program starts in it. `cpus`: of
    /// the program; the launcher stays on those of the probe.
    pub fn new(
        paths: &[CString],
        report: RawFd,
        cgroup: Option<RawFd>,
        cpus: Option<&[u8]>,
    ) -> io::Result<Launcher> {
        let file = File::from(memfd_create("ringside-launcher")?);
        let code = code().ok_or(io::ErrorKind::Unsupported)?;
        let mut paths: Vec<u8> = paths
            .iter()
            .flat_map(|path| path.as_bytes_with_nul())
            .copied()
            .collect();
        paths.push(0);
        let size = CODE + code.len() + paths.len();
        let result_offset = ((size + PAGE - 1) / PAGE * PAGE) as u64;

        let flags = libc::CLONE_PARENT | libc::CLONE_PARENT_SETTID;
        let flags = (flags | libc::CLONE_VM | libc::CLONE_VFORK) as u64;
        let flags = flags | cgroup.map_or(0, |_| CLONE_INTO_CGROUP);
        let parent_tid = RESULT_ADDRESS + NUMBER as u64;
        let mut content = headers(size as u64);
        let clone = [flags, 0, 0, parent_tid, 0, 0, 0, 0, 0, 0];
        let numbers = [
            cgroup.unwrap_or(0) as u64,
            file.as_raw_fd() as u64,
            result_offset,
            report as u64,
            std::process::id().into(),
            cgroup.unwrap_or(-1) as u64,
            ADDRESS + (CODE + code.len()) as u64,
            cpus.map_or(0, |cpus| cpus.len() as u64),
        ];
        let numbers = clone.iter().chain(&numbers);
        content.extend(numbers.flat_map(|number| number.to_le_bytes()));
        content.extend(cpus.unwrap_or(&[]));
        content.resize(CODE, 0);
        content.extend(code);
        content.extend(paths);
        file.write_all_at(&content, 0)?;
        file.set_len(result_offset + PAGE as u64)?;
        Ok(Launcher {
            file,
            result_offset,
        })
    }

    /// Executes it, and has it inherit what it needs; returns only where that fails. In a child of the probe: system
    /// calls only.
    ///
    /// # Safety
    /// `argv` and `env` end with a null pointer.
    pub unsafe fn execute(
        &self,
        inherited: &[RawFd],
        argv: &[*const c_char],
        env: &[*const c_char],
    ) {
        let file = self.file.as_raw_fd();
        for &file in inherited.iter().chain(&[file]) {
            libc::fcntl(file, libc::F_SETFD, 0);
        }
        let path = b"\0".as_ptr();
        let (argv, env) = (argv.as_ptr(), env.as_ptr());
        libc::syscall(
            libc::SYS_execveat,
            file,
            path,
            argv,
            env,
            libc::AT_EMPTY_PATH,
        );
        for &file in inherited.iter().chain(&[file]) {
            libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }

    /// When it has ended: when the program started, and its number.
    pub fn result(&self) -> io::Result<(Instant, i32)> {
        let mut result = [0; NUMBER + 4];
        self.file.read_exact_at(&mut result, self.result_offset)?;
        let number =
            |at: usize| i64::from_le_bytes(result[at..at + 8].try_into().unwrap_or([0; 8]));
        let start_ns = number(0) as u64 * 1_000_000_000 + number(8) as u64;
        let number = i32::from_le_bytes(result[NUMBER..].try_into().unwrap_or([0; 4]));
        match number {
            number if number > 0 => {
                // This process may lose its CPU, to the program above all, between two looks at the clock.
                let look = |_| {
                    let now = Instant::now();
                    let now_ns = clock::now_ns();
                    (now.elapsed(), now, now_ns)
                };
                let (_, now, now_ns) = (0..5).map(look).min().expect("several looks");
                let ago = Duration::from_nanos(now_ns.saturating_sub(start_ns));
                Ok((now - ago, number))
            }
            0 => Err(io::Error::from_raw_os_error(libc::ECHILD)),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}

/// Of an ELF file with one segment, which is all of it.
fn headers(size: u64) -> Vec<u8> {
    let mut headers = b"\x7fELF\x02\x01\x01".to_vec();
    headers.resize(16, 0);
    // ET_EXEC, EM_X86_64
    headers.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    headers.extend((ADDRESS + CODE as u64).to_le_bytes());
    headers.extend((ELF_HEADER as u64).to_le_bytes());
    headers.extend([0; 12]);
    headers.extend([ELF_HEADER as u8, 0, PROGRAM_HEADER as u8, 0, 1, 0]);
    headers.resize(ELF_HEADER, 0);
    // PT_LOAD, readable and executable
    headers.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for number in [0, ADDRESS, ADDRESS, size, size, PAGE as u64] {
        headers.extend(number.to_le_bytes());
    }
    headers
}
