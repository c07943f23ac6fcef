import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

class Sums(val endNs: Long, val checksum: Long, val order: Long)

suspend fun relay(i: Int, messages: Int, inbox: ReceiveChannel<Long>, outbox: SendChannel<Long>) {
    repeat(messages) { outbox.send(inbox.receive() + i) }
}

suspend fun receive(messages: Int, inbox: ReceiveChannel<Long>): Sums {
    var checksum = 0L
    var order = 0L
    repeat(messages) {
        val value = inbox.receive()
        checksum += value
        order = (31 * order + value) % 2147483647
    }
    return Sums(System.nanoTime(), checksum, order)
}

fun main(arguments: Array<String>) = runBlocking(Dispatchers.Default) {
    val (n, m) = arguments.map { it.toInt() }
    val queues = List(n) { Channel<Long>() }
    for (i in 1 until n) {
        launch { relay(i, m, queues[i - 1], queues[i]) }
    }
    val last = async { receive(m, queues.last()) }
    val startNs = System.nanoTime()
    for (r in m - 1 downTo 0) {
        queues[0].send(r.toLong())
    }
    val sums = last.await()
    println("${sums.endNs - startNs} ${sums.checksum}")
}
