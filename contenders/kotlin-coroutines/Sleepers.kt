import kotlin.time.Duration.Companion.nanoseconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import java.util.concurrent.atomic.AtomicInteger

private const val FACTOR = 48271L
private const val SECOND_NS = 1_000_000_000L
private const val REPORTS = 10

/** The sleepers: a coroutine for each, and a channel to the one that collects. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    settings.cores()
    val tasks = settings.wholeNumber("tasks", 1L..1_000_000).toInt()
    val seconds = settings.wholeNumber("seconds", 2L..3600)
    val seed = settings.wholeNumber("seed", 0..4_294_967_295, 0)
    val hold = settings.flag("hold")
    runBlocking(Dispatchers.Default) { Sleepers(tasks).run((seconds - 1) * SECOND_NS, seed, hold) }
}

/** A task hands over its number and its lateness. */
private class Wake(val number: Long, val lateNs: Long)

private class Sleepers(private val tasks: Int) {
    private val beginNs = System.nanoTime()
    private val wakes = Channel<Wake>(Channel.UNLIMITED)
    private val asleep = AtomicInteger()
    private val allAsleep = CompletableDeferred<Unit>()

    suspend fun run(lastSecondNs: Long, seed: Long, hold: Boolean) = coroutineScope {
        var x = 1 + seed % (MODULUS - 1)
        repeat(tasks) {
            x = FACTOR * x % MODULUS
            val number = x
            launch { sleep(number, beginNs + lastSecondNs + number * SECOND_NS / MODULUS) }
        }
        allAsleep.await()
        reportPhase("start", System.nanoTime() - beginNs)
        if (hold) {
            report("::await name=started")
            awaitLine()
        }
        collect()
    }

    private suspend fun sleep(number: Long, dueNs: Long) {
        if (asleep.incrementAndGet() == tasks) allAsleep.complete(Unit)
        while (true) {
            val lateNs = System.nanoTime() - dueNs
            if (lateNs >= 0) return wakes.send(Wake(number, lateNs))
            delay((-lateNs).nanoseconds)
        }
    }

    private suspend fun collect() {
        val numbers = LongArray(tasks)
        val lateNs = LongArray(tasks)
        val reports = minOf(REPORTS, tasks).toLong()
        for (i in 0 until tasks) {
            val wake = wakes.receive()
            numbers[i] = wake.number
            lateNs[i] = wake.lateNs
            if ((i + 1) * reports / tasks > i * reports / tasks) reportPhase("wake", System.nanoTime() - beginNs)
        }
        numbers.sort()
        lateNs.sort()
        val order = numbers.fold(0L) { order, number -> (31 * order + number) % MODULUS }
        val late = listOf(50, 99, 100).map { percentile(lateNs, it) }
        report("::result sum=${numbers.sum()} order=$order late_p50_ns=${late[0]} late_p99_ns=${late[1]} late_max_ns=${late[2]}")
    }

    /** The smallest lateness that so many percent do not exceed. */
    private fun percentile(sorted: LongArray, percent: Int) = sorted[((sorted.size.toLong() * percent + 99) / 100 - 1).toInt()]
}
