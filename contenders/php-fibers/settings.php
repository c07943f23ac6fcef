<?php
// Reads the arguments, `key=value` each, and writes protocol lines. A value that cannot be used ends the program with
// status 2 and one line; unknown keys are ignored.

declare(strict_types=1);

const SECOND_NS = 1_000_000_000;
const MODULUS = 2147483647;

$given = [];
foreach (array_slice($argv, 1) as $argument) {
    [$key, $value] = explode('=', $argument, 2) + [1 => ''];
    $given[$key] = $value;
}

function wholeNumber(string $key, ?string $default, int $least, int $most = 1_000_000_000): int
{
    global $given;
    $text = $given[$key] ?? $default ?? '';
    if (!preg_match('/^\d{1,10}$/D', $text) || (int) $text < $least || (int) $text > $most) {
        refuse($key, "a whole number from $least to $most", $text);
    }
    return (int) $text;
}

function oneOf(string $key, ?string $default, string ...$choices): string
{
    global $given;
    $text = $given[$key] ?? $default ?? '';
    if (!in_array($text, $choices, true)) {
        refuse($key, implode(' or ', $choices), $text);
    }
    return $text;
}

function refuse(string $key, string $wanted, string $text): never
{
    fwrite(STDERR, "$key must be $wanted, not " . json_encode($text, JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
    exit(2);
}

// Writes lines at once: STDOUT has no buffer.
function report(string $line): void
{
    if (@fwrite(STDOUT, "$line\n") === false) {
        fwrite(STDERR, "cannot write to stdout\n");
        exit(1);
    }
}

function phase(string $name, int $ns): void
{
    report("::phase name=$name ns=$ns");
}

function clock(): int
{
    return hrtime(true);
}
