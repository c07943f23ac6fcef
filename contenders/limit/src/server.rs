//! How a server begins and ends. One thread accepts, and deals the connections
//! out to the others in turn.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::process::exit;
use std::thread;
use std::time::Duration;

use rustix::net::{bind, listen, socket_with, sockopt, AddressFamily, SocketFlags, SocketType};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

use crate::mailbox::Address;

const BACKLOG: i32 = 4096;

/// Listens and says so. From then on SIGTERM and the end of stdin
/// end the program.
pub fn begin(address: SocketAddrV4) -> io::Result<TcpListener> {
    end_on_sigterm();
    raise_the_limit_of_open_files();
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    let listener = TcpListener::from(socket);
    let mut out = io::stdout().lock();
    writeln!(out, "::ready port={}", listener.local_addr()?.port())?;
    out.flush()?;
    thread::Builder::new().spawn(end_with_stdin)?;
    Ok(listener)
}

/// Accepts for ever.
pub fn deal<M>(
    listener: &TcpListener,
    addresses: &[Address<M>],
    message: impl Fn(TcpStream) -> M,
) -> ! {
    for address in addresses.iter().cycle() {
        let socket = loop {
            match listener.accept() {
                Ok((socket, _)) => break socket,
                // No descriptor is free: some connection may end.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        };
        if socket.set_nonblocking(true).is_ok() && socket.set_nodelay(true).is_ok() {
            address.send(message(socket));
        }
    }
    unreachable!("there is a thread at least")
}

fn raise_the_limit_of_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // If it fails, the limit stays as it is.
    let _ = setrlimit(Resource::Nofile, raised);
}

fn end_with_stdin() {
    let mut stdin = io::stdin().lock();
    let mut bytes = [0; 1024];
    loop {
        match stdin.read(&mut bytes) {
            Ok(0) => exit(0),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => exit(0),
            _ => {}
        }
    }
}

/// A handler ends the process at once, whatever its threads compute: nothing is
/// buffered, and the kernel closes what is open.
#[allow(unsafe_code)]
fn end_on_sigterm() {
    extern "C" fn end(_: libc::c_int) {
        // SAFETY: `_exit` may be called in a signal handler.
        unsafe { libc::_exit(0) }
    }
    // SAFETY: the handler is a function of the type that `signal` asks for, and
    // does nothing that a handler may not do.
    unsafe {
        libc::signal(libc::SIGTERM, end as extern "C" fn(libc::c_int) as usize);
    }
}
