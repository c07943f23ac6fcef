//! Shared by the programs: reads the arguments, `key=value` each, and writes protocol lines. A value that cannot be
//! used ends the program with status 2 and one line; unknown keys are ignored.

const std = @import("std");
const Io = std.Io;

pub const modulus = 2147483647;
pub const factor = 48271;

pub const Given = struct {
    io: Io,
    arguments: []const [:0]const u8,

    pub fn read(init: std.process.Init) !Given {
        return .{ .io = init.io, .arguments = try init.minimal.args.toSlice(init.arena.allocator()) };
    }

    pub fn text(given: Given, key: []const u8) ?[]const u8 {
        for (given.arguments[1..]) |argument| {
            const at = std.mem.indexOfScalar(u8, argument, '=') orelse continue;
            if (std.mem.eql(u8, argument[0..at], key)) return argument[at + 1 ..];
        }
        return null;
    }

    /// Without a default the key must be there.
    pub fn number(given: Given, key: []const u8, default: ?u64, least: u64, most: u64) u64 {
        const value = given.text(key) orelse if (default) |number_| return number_ else "";
        for (value) |character| {
            if (!std.ascii.isDigit(character)) given.refuse(key, value, least, most);
        }
        const parsed = std.fmt.parseInt(u64, value, 10) catch given.refuse(key, value, least, most);
        if (parsed < least or parsed > most) given.refuse(key, value, least, most);
        return parsed;
    }

    /// The first choice is the default.
    pub fn oneOf(given: Given, key: []const u8, choices: []const []const u8) []const u8 {
        return given.needed(key, given.text(key) orelse choices[0], choices);
    }

    pub fn needed(given: Given, key: []const u8, value: []const u8, choices: []const []const u8) []const u8 {
        for (choices) |choice| {
            if (std.mem.eql(u8, choice, value)) return choice;
        }
        given.fail("{s} must be one of {d} words, not {s}: see docs/PROTOCOL.md", .{ key, choices.len, value });
    }

    pub fn flag(given: Given, key: []const u8) bool {
        return std.mem.eql(u8, given.oneOf(key, &.{ "0", "1" }), "1");
    }

    fn refuse(given: Given, key: []const u8, value: []const u8, least: u64, most: u64) noreturn {
        given.fail("{s} must be a whole number from {d} to {d}, not {s}", .{ key, least, most, value });
    }

    pub fn fail(given: Given, comptime format: []const u8, arguments: anytype) noreturn {
        var buffer: [1000]u8 = undefined;
        const line = std.fmt.bufPrint(&buffer, format ++ "\n", arguments) catch "an argument is wrong\n";
        Io.File.stderr().writeStreamingAll(given.io, line) catch {};
        std.process.exit(2);
    }
};

/// Writes a protocol line at once.
pub fn report(io: Io, comptime format: []const u8, arguments: anytype) void {
    var buffer: [1000]u8 = undefined;
    const line = std.fmt.bufPrint(&buffer, format ++ "\n", arguments) catch unreachable;
    Io.File.stdout().writeStreamingAll(io, line) catch std.process.exit(1);
}

pub fn phase(io: Io, name: []const u8, from: i96, to: i96) void {
    report(io, "::phase name={s} ns={d}", .{ name, to - from });
}

/// Nanoseconds of the monotonic clock.
pub fn clock(io: Io) i96 {
    return Io.Clock.awake.now(io).nanoseconds;
}

pub fn sleepUntil(io: Io, instant: i96) Io.Cancelable!void {
    const timestamp: Io.Clock.Timestamp = .{ .raw = .{ .nanoseconds = instant }, .clock = .awake };
    return timestamp.wait(io);
}

/// A line on stdin, or its end, which is as good.
pub fn lineFromStdin(io: Io) void {
    var buffer: [100]u8 = undefined;
    _ = Io.File.stdin().readStreaming(io, &.{&buffer}) catch {};
}
