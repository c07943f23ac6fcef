<?php
// The fibonacci service: a fiber for each connection reads, computes and writes.

declare(strict_types=1);

require __DIR__ . '/settings.php';
require __DIR__ . '/server.php';

const MOST = 90;
const LONGEST = 100; // bytes of a line, its newline included

function fib(int $n): int
{
    return $n <= 2 ? 1 : fib($n - 1) + fib($n - 2);
}

function answer(string $line): string
{
    $n = preg_match('/^\d+$/D', $line) ? (int) $line : 0;
    return 1 <= $n && $n <= MOST ? fib($n) . "\n" : 'error: a whole number from 1 to ' . MOST . " is needed\n";
}

/** @param resource $connection */
function converse($connection): void
{
    $rest = '';
    while (($more = receive($connection)) !== '') {
        $lines = explode("\n", $rest . $more);
        $rest = array_pop($lines);
        foreach ([...$lines, ...(strlen($rest) >= LONGEST ? [$rest] : [])] as $line) {
            if (strlen($line) >= LONGEST) {
                send($connection, 'error: a line has at most ' . LONGEST . " bytes\n");
                return;
            }
            if (!send($connection, answer($line))) {
                return;
            }
        }
    }
}

serve(converse(...));
