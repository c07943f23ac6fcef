import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.supervisorScope

private const val FACTOR = 48271L

/** The restarts: a coroutine for each unit in a `supervisorScope`, where one that fails leaves the others alone. The
 * handler of its exception tells the collector, which launches another. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    settings.cores()
    val units = settings.wholeNumber("units", 1L..100_000).toInt()
    val messages = settings.wholeNumber("messages", 2L..1_000_000)
    val failingBelow = MODULUS / settings.wholeNumber("every", 2L..1_000_000)
    val seed = settings.wholeNumber("seed", 0..4_294_967_295, 0)
    runBlocking(Dispatchers.Default) {
        supervisorScope { Collector(this, units, messages, failingBelow, seed).run() }
    }
}

private class Message(val number: Long, val fails: Boolean)

private sealed interface Event {
    val unit: Int
}

/** How many numbers the unit handled since it began, and their fold. */
private class Reply(override val unit: Int, val handled: Long, val folded: Long, val bornNs: Long) : Event

private class Failed(override val unit: Int) : Event

private class Failure : RuntimeException()

/** The collector's knowledge of a unit. */
private class Served(var inbox: Channel<Message>, var number: Long) {
    var left = 0L
    var folded = 0L
    var sentNs = 0L
    /** When the message was sent that made it fail, until it has answered since. */
    var failedNs: Long? = null
}

/** Times in nanoseconds, so many at most. */
private class Times(most: Int) {
    private val ns = LongArray(most)
    private var count = 0

    fun add(time: Long) {
        ns[count++] = time
    }

    fun clear() {
        count = 0
    }

    /** The smallest that so many percent do not exceed; 0 where there is none. */
    fun percentiles(name: String): String {
        ns.sort(0, count)
        fun at(percent: Long) = if (count == 0) 0 else ns[((count * percent + 99) / 100 - 1).toInt()]
        return "${name}_p50_ns=${at(50)} ${name}_p99_ns=${at(99)} ${name}_max_ns=${at(100)}"
    }
}

private class Collector(
    private val scope: CoroutineScope,
    units: Int,
    private val messages: Long,
    private val failingBelow: Long,
    seed: Long,
) {
    private val events = Channel<Event>(Channel.UNLIMITED)
    private val startNs = System.nanoTime()
    private val units = List(units) { Served(start(it), 1 + (seed + it) % (MODULUS - 1)) }
    private val most = Math.multiplyExact(units.toLong(), messages).toInt()
    private val answer = Times(most)
    private val recovery = Times(most)
    private val calm = Times(most)
    private var failing = false
    private var others = calm
    private var open = 0
    private var answers = 0L
    private var failures = 0L
    private var fresh = 0L

    suspend fun run() {
        reportPhase("start", System.nanoTime() - startNs)
        for (name in listOf("warm", "failing", "calm")) pass(name)
        for (unit in units) unit.inbox.close()
        val order = units.fold(0L) { order, unit -> (31 * order + unit.folded) % MODULUS }
        report(
            "::result answers=$answers failures=$failures fresh=$fresh order=$order " +
                "${answer.percentiles("answer")} ${recovery.percentiles("recovery")} ${calm.percentiles("calm")}"
        )
    }

    private suspend fun pass(name: String) {
        val beginNs = System.nanoTime()
        failing = name == "failing"
        others = if (failing) answer else calm
        others.clear()
        open = units.size
        for (unit in units) {
            unit.left = messages
            send(unit)
        }
        while (open > 0) {
            val event = events.receive()
            val unit = units[event.unit]
            when (event) {
                is Reply -> {
                    take(event, unit)
                    if (unit.left > 0) send(unit) else open--
                }
                is Failed -> {
                    failures++
                    unit.failedNs = unit.sentNs
                    unit.inbox = start(event.unit)
                    send(unit)
                }
            }
        }
        reportPhase(name, System.nanoTime() - beginNs)
    }

    private suspend fun send(unit: Served) {
        unit.number = FACTOR * unit.number % MODULUS
        unit.left--
        val fails = failing && unit.number < failingBelow && unit.left > 0 && unit.failedNs == null
        unit.sentNs = System.nanoTime()
        unit.inbox.send(Message(unit.number, fails))
    }

    private fun take(reply: Reply, unit: Served) {
        val nowNs = System.nanoTime()
        val failedNs = unit.failedNs
        if (failedNs == null) {
            others.add(nowNs - unit.sentNs)
        } else {
            if (reply.bornNs - failedNs >= 0) fresh++
            recovery.add(nowNs - failedNs)
            unit.failedNs = null
        }
        answers++
        unit.folded = (31 * unit.folded + reply.folded + reply.handled) % MODULUS
    }

    /** The channel of a new unit. */
    private fun start(unit: Int): Channel<Message> {
        val inbox = Channel<Message>()
        val handler = CoroutineExceptionHandler { _, _ -> events.trySend(Failed(unit)) }
        scope.launch(handler) { serve(unit, inbox) }
        return inbox
    }

    private suspend fun serve(unit: Int, inbox: Channel<Message>) {
        val bornNs = System.nanoTime()
        var handled = 0L
        var folded = 0L
        for (message in inbox) {
            if (message.fails) throw Failure()
            handled++
            folded = (31 * folded + message.number) % MODULUS
            events.send(Reply(unit, handled, folded, bornNs))
        }
    }
}
