import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** The ring: a coroutine for each unit, a channel between neighbours. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    settings.cores()
    val ring = Ring(settings)
    val hold = settings.flag("hold")
    val repeats = settings.repeats()
    runBlocking(Dispatchers.Default) {
        var evidence = Evidence()
        repeat(repeats) { evidence = ring.once(evidence, hold && it == 0) }
        report("::result checksum=${evidence.checksum} order=${evidence.order}")
    }
}

/** Unit N's result over all values, including those of earlier rings. */
private class Evidence(val checksum: Long = 0, val order: Long = 0, val endNs: Long = 0)

private class Ring(settings: Settings) {
    private val nodes = settings.wholeNumber("nodes", 2..MOST)
    private val messages = settings.wholeNumber("messages", 1..MOST)
    private val capacity =
        when (val capacity = settings.oneOf("capacity", "own", "0", "1", "30", "1000", "unbounded")) {
            "own" -> Channel.RENDEZVOUS
            "unbounded" -> Channel.UNLIMITED
            else -> capacity.toInt()
        }
    private val token = settings.oneOf("mode", "pipelined", "token") == "token"
    private val trace = settings.flag("trace")

    suspend fun once(before: Evidence, hold: Boolean): Evidence = coroutineScope {
        val startNs = System.nanoTime()
        val first = Channel<Long>(capacity)
        val arrived = Channel<Unit>(1)
        var inbox = first
        for (i in 1 until nodes) {
            val from = inbox
            val to = Channel<Long>(capacity)
            launch { relay(i, from, to) }
            inbox = to
        }
        val last = async { lastUnit(inbox, arrived, before) }
        reportPhase("spawn", System.nanoTime() - startNs)
        if (hold) {
            report("::await name=spawned")
            awaitLine()
        }

        val relayNs = System.nanoTime()
        for (r in messages - 1 downTo 0) {
            first.send(r)
            if (token) arrived.receive()
        }
        last.await().also { reportPhase("relay", it.endNs - relayNs) }
    }

    /** Unit i, one of 1 … N-1. */
    private suspend fun relay(i: Long, inbox: ReceiveChannel<Long>, outbox: SendChannel<Long>) {
        val terminator = terminator(i)
        val name = name()
        do {
            val value = inbox.receive()
            if (trace) {
                output.println(
                    if (value > terminator) ": Proc: $name, Seq#: $i, Msg#: ${value - terminator} .."
                    else "* Proc: $name, Seq#: $i, Msg#: terminate!"
                )
            }
            outbox.send(value + i)
        } while (value != terminator)
    }

    /** Unit N: returns the evidence when the last message came. */
    private suspend fun lastUnit(inbox: ReceiveChannel<Long>, arrived: SendChannel<Unit>, before: Evidence): Evidence {
        val terminator = terminator(nodes)
        val name = name()
        var (checksum, order) = before.checksum to before.order
        do {
            val value = inbox.receive()
            checksum += value
            order = (31 * order + value) % MODULUS
            if (trace) {
                output.println(
                    if (value > terminator) "> Proc: $name, Seq#: $nodes, Msg#: ${value - terminator} .."
                    else "@ Proc: $name, Seq#: $nodes, ring terminated."
                )
            }
            if (token) arrived.send(Unit)
        } while (value != terminator)
        return Evidence(checksum, order, System.nanoTime())
    }

    /** Message 0, which ends the ring, as unit i receives it: the units before have added their numbers. */
    private fun terminator(i: Long) = i * (i - 1) / 2

    /** What a job's text has behind the @. */
    private suspend fun name() =
        if (trace) currentCoroutineContext().job.toString().substringAfter('@') else ""
}
