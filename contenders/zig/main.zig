//! The program whose name is the first argument. They are one executable, so that the standard library is compiled once.

const std = @import("std");

// A thread would get a signal stack of 256 KiB of its own, which is cleared when it starts.
pub const std_options: std.Options = .{ .signal_stack_size = null };

const programs = .{
    .{ "ring", @import("ring.zig").main },
    .{ "jobs", @import("jobs.zig").main },
    .{ "fib", @import("fib.zig").main },
    .{ "sleepers", @import("sleepers.zig").main },
    .{ "accounts", @import("accounts.zig").main },
};

pub fn main(init: std.process.Init) !void {
    const arguments = try init.minimal.args.toSlice(init.arena.allocator());
    const name = if (arguments.len > 1) arguments[1] else "";
    inline for (programs) |program| {
        if (std.mem.eql(u8, program[0], name)) return program[1](init);
    }
    std.process.exit(2);
}
