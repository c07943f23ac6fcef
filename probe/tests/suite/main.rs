//! The probe as a whole, against real programs, servers and kernels. One binary: it is linked once.

mod attacks;
mod common;
mod driven;
mod ends;
mod failures;
mod files;
mod http2;
mod inputs;
mod layers;
mod load;
mod memory;
mod mixes;
mod modules;
mod output;
mod parts;
mod plain;
mod programs;
mod remote;
mod schedule;
mod secure;
mod services;
mod sizes;
mod streams;
mod websockets;
