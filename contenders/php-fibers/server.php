<?php
// A server: a fiber for each connection. It ends on SIGTERM and at the end of stdin.

declare(strict_types=1);

require __DIR__ . '/loop.php';

function serve(callable $converse): void
{
    global $given;
    $host = $given['host'] ?? '127.0.0.1';
    $port = wholeNumber('port', '0', 0, 65535);
    wholeNumber('cores', '1', 1, 1024); // Unused: there is one thread.
    pcntl_async_signals(true);
    pcntl_signal(SIGTERM, fn () => exit(0));
    $context = stream_context_create(['socket' => ['backlog' => 4096, 'tcp_nodelay' => true]]);
    $listener = @stream_socket_server("tcp://$host:$port", context: $context);
    if (!$listener) {
        refuse('port', "one that is free on $host", (string) $port);
    }
    stream_set_blocking($listener, false);
    stream_set_blocking(STDIN, false);
    Loop::spawn(accept(...), $listener, $converse);
    Loop::spawn(endWithStdin(...));
    report('::ready port=' . substr(strrchr(stream_socket_get_name($listener, false), ':'), 1));
    Loop::run();
}

/** @param resource $listener */
function accept($listener, callable $converse): void
{
    for (;;) {
        Loop::waitToRead($listener);
        while ($connection = @stream_socket_accept($listener, 0)) {
            stream_set_blocking($connection, false);
            stream_set_read_buffer($connection, 0);
            Loop::spawn(function () use ($connection, $converse): void {
                $converse($connection);
                fclose($connection);
            });
        }
    }
}

function endWithStdin(): void
{
    do {
        Loop::waitToRead(STDIN);
    } while (fread(STDIN, 4096) !== '' || !feof(STDIN));
    exit(0);
}

/**
 * What has come; nothing where the client has gone.
 * @param resource $connection
 */
function receive($connection): string
{
    Loop::waitToRead($connection);
    return (string) @fread($connection, 4096);
}

/**
 * False where the client has gone.
 * @param resource $connection
 */
function send($connection, string $text): bool
{
    while ($text !== '') {
        $sent = @fwrite($connection, $text);
        if ($sent === false) {
            return false;
        }
        $text = substr($text, $sent);
        if ($text !== '') {
            Loop::waitToWrite($connection);
        }
    }
    return true;
}
