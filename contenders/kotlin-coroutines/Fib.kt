import io.ktor.network.selector.SelectorManager
import io.ktor.network.sockets.InetSocketAddress
import io.ktor.network.sockets.Socket
import io.ktor.network.sockets.aSocket
import io.ktor.network.sockets.openReadChannel
import io.ktor.network.sockets.openWriteChannel
import io.ktor.utils.io.ByteReadChannel
import io.ktor.utils.io.readAvailable
import io.ktor.utils.io.writeFully
import io.ktor.utils.io.writeStringUtf8
import java.io.IOException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withTimeoutOrNull

/** Bytes of a line, its newline included. */
private const val LONGEST = 100
private const val LARGEST = 90
private const val TOO_LONG = "error: a line may have $LONGEST bytes\n"
private const val NOT_ANSWERED = "error: n must be a whole number from 1 to $LARGEST\n"
private const val GRACE_MS = 1000L
/** Until it accepts again, where no descriptor is free. */
private const val PAUSE_MS = 10L
private const val NEWLINE = '\n'.code.toByte()

/** The fibonacci service: Ktor's sockets, a coroutine for each connection, which reads, computes and writes. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    settings.cores()
    val address = InetSocketAddress(settings.host(), settings.port())
    runBlocking(Dispatchers.Default) {
        val listener =
            try {
                aSocket(SelectorManager(Dispatchers.IO)).tcp().bind(address) { backlogSize = BACKLOG }
            } catch (_: IOException) {
                refusePort(address.port)
            }
        ready((listener.localAddress as InetSocketAddress).port)
        supervisorScope {
            while (true) {
                try {
                    val client = listener.accept()
                    launch { converse(client) }
                } catch (_: IOException) {
                    delay(PAUSE_MS)
                }
            }
        }
    }
}

/** Answers one client's requests until it closes. */
private suspend fun converse(client: Socket) {
    try {
        client.use {
            val input = it.openReadChannel()
            val output = it.openWriteChannel()
            val unread = ByteArray(4096)
            var held = 0
            while (true) {
                val count = input.readAvailable(unread, held, unread.size - held)
                if (count < 0) break
                held += count
                var begin = 0
                while (true) {
                    val end = (begin until minOf(held, begin + LONGEST)).firstOrNull { at -> unread[at] == NEWLINE } ?: break
                    output.writeStringUtf8(answer(unread, begin, end))
                    begin = end + 1
                }
                if (held - begin >= LONGEST) {
                    output.writeStringUtf8(TOO_LONG)
                    output.flushAndClose()
                    // Closing with bytes unread would reset the connection, and the client might miss the answer.
                    withTimeoutOrNull(GRACE_MS) { while (input.readAvailable(unread) >= 0) {} }
                    return
                }
                output.flush()
                unread.copyInto(unread, 0, begin, held)
                held -= begin
            }
        }
    } catch (_: IOException) {
        // The client went away.
    }
}

private fun answer(bytes: ByteArray, begin: Int, end: Int): String {
    var n = 0
    for (at in begin until end) {
        val digit = bytes[at] - '0'.code
        if (digit !in 0..9) return NOT_ANSWERED
        n = minOf(10 * n + digit, LARGEST + 1)
    }
    return if (n in 1..LARGEST) "${fib(n)}\n" else NOT_ANSWERED
}

private fun fib(n: Int): Long = if (n <= 2) 1 else fib(n - 1) + fib(n - 2)
