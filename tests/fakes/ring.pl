# The core of the ring's contract and no capability: a chain of queues in one process.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

$| = 1;    # each protocol line is flushed
my %given = map { split /=/, $_, 2 } @ARGV;

sub whole_number {
    my ($key, $default, $least) = @_;
    my $value = $given{$key} // $default;
    return $value if $value =~ /\A[0-9]{1,9}\z/ && $value >= $least;
    print STDERR "ring: $key must be a whole number from $least\n";
    exit 2;
}

my $nodes    = whole_number('nodes',    '', 2);
my $messages = whole_number('messages', '', 1);
whole_number('cores', 1, 1);

sub now_ns { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }

my $begin_ns = now_ns();
my @queues   = map { [] } 1 .. $nodes;
print '::phase name=spawn ns=', now_ns() - $begin_ns, "\n";

$begin_ns = now_ns();
push @{ $queues[0] }, reverse 0 .. $messages - 1;
for my $unit (1 .. $nodes - 1) {
    while (@{ $queues[ $unit - 1 ] }) {
        push @{ $queues[$unit] }, $unit + shift @{ $queues[ $unit - 1 ] };
    }
}
my ($sum, $order) = (0, 0);
for my $value (@{ $queues[ $nodes - 1 ] }) {
    $sum += $value;
    $order = (31 * $order + $value) % 2147483647;
}
print '::phase name=relay ns=', now_ns() - $begin_ns, "\n";
print "::result checksum=$sum order=$order\n";
