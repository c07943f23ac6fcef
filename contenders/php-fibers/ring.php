<?php
// The ring: a fiber for each unit, a queue between neighbours.

declare(strict_types=1);

require __DIR__ . '/settings.php';
require __DIR__ . '/loop.php';
require __DIR__ . '/channel.php';

// Unit N's result over all values, including those of earlier rings.
final class Evidence
{
    public int $checksum = 0;
    public int $order = 0;
    public int $end = 0;
}

// Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
function terminator(int $i): int
{
    return intdiv($i * ($i - 1), 2);
}

// Unit i, one of 1 … N-1. It runs up to its first receive when it is started.
function relay(int $i, Channel $inbox, Channel $outbox, bool $trace): void
{
    $terminator = terminator($i);
    do {
        $value = $inbox->get();
        if ($trace) {
            $r = $value - $terminator;
            printf($r ? ": Proc: unit-%d, Seq#: %d, Msg#: %d ..\n" : "* Proc: unit-%d, Seq#: %d, Msg#: terminate!\n", $i, $i, $r);
        }
        $outbox->put($value + $i);
    } while ($value !== $terminator);
}

function lastUnit(int $n, Channel $inbox, ?Channel $arrived, bool $trace, Evidence $evidence): void
{
    $terminator = terminator($n);
    do {
        $value = $inbox->get();
        $evidence->checksum += $value;
        $evidence->order = (31 * $evidence->order + $value) % MODULUS;
        if ($trace) {
            $r = $value - $terminator;
            printf($r ? "> Proc: unit-%d, Seq#: %d, Msg#: %d ..\n" : "@ Proc: unit-%d, Seq#: %d, ring terminated.\n", $n, $n, $r);
        }
        $arrived?->put(true);
    } while ($value !== $terminator);
    $evidence->end = clock();
}

$nodes = wholeNumber('nodes', null, 2);
$messages = wholeNumber('messages', null, 1);
$capacity = oneOf('capacity', 'own', 'own', '1', '30', '1000', 'unbounded');
$capacity = is_numeric($capacity) ? (int) $capacity : PHP_INT_MAX;
$isToken = oneOf('mode', 'pipelined', 'pipelined', 'token') === 'token';
$trace = oneOf('trace', '0', '0', '1') === '1';
$hold = oneOf('hold', '0', '0', '1') === '1';
$repeats = wholeNumber('repeats', '1', 1, 3000);
wholeNumber('cores', '1', 1, 1024); // Unused: there is one thread.

if ($trace) {
    ob_start(null, 64 * 1024);
}
$evidence = new Evidence();
for ($repeat = 0; $repeat < $repeats; $repeat++) {
    $start = clock();
    $arrived = $isToken ? new Channel() : null;
    $first = $inbox = new Channel($capacity);
    for ($i = 1; $i < $nodes; $i++) {
        $outbox = new Channel($capacity);
        Loop::spawn(relay(...), $i, $inbox, $outbox, $trace);
        $inbox = $outbox;
    }
    Loop::spawn(lastUnit(...), $nodes, $inbox, $arrived, $trace, $evidence);
    phase('spawn', clock() - $start);
    if ($hold && $repeat === 0) {
        report('::await name=spawned');
        fgets(STDIN);
    }
    $start = clock();
    Loop::spawn(function () use ($messages, $first, $arrived): void {
        for ($r = $messages - 1; $r >= 0; $r--) {
            $first->put($r);
            $arrived?->get();
        }
    });
    Loop::run();
    if ($trace) {
        ob_flush();
    }
    phase('relay', $evidence->end - $start);
}
report("::result checksum=$evidence->checksum order=$evidence->order");
