import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.isActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

private const val FACTOR = 48271L
private const val TIMES_ALONE = 5
private const val BEAT_NS = 10_000_000L

/** The background jobs: a coroutine for each. The heart beats in a coroutine of the main thread. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    settings.cores()
    val jobs = Jobs(settings)
    val hold = settings.flag("hold")
    val repeats = settings.repeats()
    runBlocking {
        val alone = jobs.alone()
        repeat(repeats) { jobs.inBackground(hold && it == 0) }
        report("::result answers=${repeats * jobs.count} order=${jobs.order} beats=${jobs.beats} alone=$alone")
    }
}

private class Done(val value: Long, val place: Int, val beginNs: Long, val endNs: Long)

private class Jobs(settings: Settings) {
    val count = settings.wholeNumber("jobs", 1L..1_000_000)
    private val kind = settings.needed("kind", "sleep", "cpu", "noop")
    private val durationMs = settings.wholeNumber("duration_ms", 0L..3_600_000, 1000)
    private val rounds = settings.wholeNumber("rounds", 1..MOST, 1_000_000)
    private val workers = settings.wholeNumber("workers", 1L..1024).toInt()
    private val seed = settings.wholeNumber("seed", 0..4_294_967_295, 0)
    private val trace = settings.flag("trace")
    var order = 0L
        private set
    var beats = 0L
        private set

    /** Each begins with the answer of the one before. */
    suspend fun alone(): Long {
        var last = first(0)
        repeat(if (kind == "cpu") TIMES_ALONE else 0) {
            val startNs = System.nanoTime()
            last = work(last)
            reportPhase("alone", System.nanoTime() - startNs)
        }
        return last
    }

    /** All jobs, once. */
    suspend fun inBackground(hold: Boolean) {
        val startNs = System.nanoTime()
        lateinit var answers: List<Done>
        val gapNs = coroutineScope {
            val places = Channel<Int>(workers)
            repeat(workers) { places.send(it) }
            val jobs = (0 until count).map { async(Dispatchers.Default) { places.lend { work(first(it)) } } }
            val heart = Heart(this)
            reportPhase("submit", heart.startNs - startNs)
            if (hold) {
                report("::await name=submitted")
                awaitLine()
            }
            answers = jobs.awaitAll()
            val endNs = System.nanoTime()
            reportPhase("makespan", endNs - startNs)
            heart.stop(endNs)
            beats += heart.beats
            heart.gapNs
        }
        reportPhase("gap", gapNs)
        for (answer in answers) {
            order = (31 * order + answer.value) % MODULUS
            if (trace) {
                output.println(
                    "::span unit=${answer.place} begin=${answer.beginNs - startNs} end=${answer.endNs - startNs}"
                )
            }
        }
    }

    private fun first(number: Long) = 1 + (seed + number) % (MODULUS - 1)

    private suspend fun work(begin: Long): Long {
        if (kind == "sleep") delay(durationMs)
        var x = begin
        for (round in 1..if (kind == "cpu") rounds else 1) x = FACTOR * x % MODULUS
        return x
    }

    /** A channel as a semaphore whose places have numbers. */
    private suspend fun Channel<Int>.lend(work: suspend () -> Long): Done {
        val place = receive()
        try {
            val beginNs = System.nanoTime()
            return Done(work(), place, beginNs, System.nanoTime())
        } finally {
            send(place)
        }
    }
}

/** The other work: a beat that is due 10 ms after the one before, from now on. */
private class Heart(scope: CoroutineScope) {
    val startNs = System.nanoTime()
    var beats = 0L
        private set
    var gapNs = 0L
        private set
    private var lastNs = startNs
    private val beating = scope.launch {
        while (isActive) {
            delay(BEAT_NS / 1_000_000)
            lookBack(System.nanoTime())
            beats++
        }
    }

    fun stop(nowNs: Long) {
        beating.cancel()
        lookBack(nowNs)
    }

    private fun lookBack(nowNs: Long) {
        gapNs = maxOf(gapNs, nowNs - lastNs)
        lastNs = nowNs
    }
}
