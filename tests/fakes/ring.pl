# The ring in a language without a template: a chain of queues in one process, written by docs/PROTOCOL.md alone.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

$| = 1;    # each protocol line is flushed
my %given = map { split /=/, $_, 2 } @ARGV;

sub refuse { print STDERR "ring: $_[0]\n"; exit 2 }

sub whole_number {
    my ($key, $default, $least) = @_;
    my $value = $given{$key} // $default;
    refuse("$key must be a whole number from $least")
        unless defined $value && $value =~ /\A[0-9]{1,15}\z/ && $value >= $least;
    return $value;
}

sub one_of {
    my ($key, @allowed) = @_;
    my $value = $given{$key} // $allowed[0];
    refuse("$key must be one of @allowed") unless grep { $_ eq $value } @allowed;
    return $value;
}

my $nodes    = whole_number('nodes',    undef, 2);
my $messages = whole_number('messages', undef, 1);
my $repeats  = whole_number('repeats',  1,     1);
refuse('repeats must be at most 150') if $repeats > 150;
my $mode     = one_of('mode',  'pipelined', 'token');
my $trace    = one_of('trace', 0, 1);
my $hold     = one_of('hold',  0, 1);
whole_number('cores', 1, 1);
one_of('capacity', 'own');

sub now_ns { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }

my ($checksum, $order) = (0, 0);

# Unit $i of the chain takes a value from its queue; the value left the feeder as $left.
sub trace_line {
    my ($i, $left) = @_;
    my $is_last = $i == $nodes;
    return ($is_last ? '>' : ':') . " Proc: u$i, Seq#: $i, Msg#: $left ..\n" if $left > 0;
    return $is_last ? "@ Proc: u$i, Seq#: $i, ring terminated.\n" : "* Proc: u$i, Seq#: $i, Msg#: terminate!\n";
}

sub relay {
    my ($queues) = @_;
    for my $i (1 .. $nodes) {
        while (@{ $queues->[ $i - 1 ] }) {
            my $value = shift @{ $queues->[ $i - 1 ] };
            print trace_line($i, $value - $i * ($i - 1) / 2) if $trace;
            if ($i < $nodes) { push @{ $queues->[$i] }, $value + $i; next }
            $checksum += $value;
            $order = (31 * $order + $value) % 2147483647;
        }
    }
}

for my $repeat (1 .. $repeats) {
    my $begin_ns = now_ns();
    my @queues   = map { [] } 1 .. $nodes;
    print '::phase name=spawn ns=', now_ns() - $begin_ns, "\n";
    if ($hold && $repeat == 1) { print "::await name=spawned\n"; <STDIN> }
    $begin_ns = now_ns();
    for my $value (reverse 0 .. $messages - 1) {
        push @{ $queues[0] }, $value;
        relay(\@queues) if $mode eq 'token';
    }
    relay(\@queues);
    print '::phase name=relay ns=', now_ns() - $begin_ns, "\n";
}
print "::result checksum=$checksum order=$order\n";
