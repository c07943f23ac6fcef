//! The program whose name is the first argument. They are one executable, so that the standard library is compiled once.

const std = @import("std");

// A thread would get a signal stack of 256 KiB of its own, which is cleared when it starts.
pub const std_options: std.Options = .{ .signal_stack_size = null };

const Program = enum { ring, jobs, fib, sleepers, accounts };

pub fn main(init: std.process.Init) !void {
    const arguments = try init.minimal.args.toSlice(init.arena.allocator());
    const name = if (arguments.len > 1) arguments[1] else "";
    switch (std.meta.stringToEnum(Program, name) orelse std.process.exit(2)) {
        .ring => try @import("ring.zig").main(init),
        .jobs => try @import("jobs.zig").main(init),
        .fib => try @import("fib.zig").main(init),
        .accounts => try @import("accounts.zig").main(init),
        .sleepers => try @import("sleepers.zig").main(init),
    }
}
