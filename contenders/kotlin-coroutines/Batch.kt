import java.io.FileInputStream
import java.io.IOException
import kotlin.system.exitProcess
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Semaphore

private const val OWN_CAPACITY = 100
private const val LARGEST = 100_000
private const val MOST_SIZE = 1_000_000
/** A sign, six digits and a space. */
private const val NUMBER_BYTES = 8
/** So many permits may be taken. A case takes one, and one more for each 16 KiB of its text, from when it was read until
 * its answer is written. */
private const val MOST_AHEAD = 1024
private const val PERMIT_BYTES = 1 shl 14

/** The batch: a coroutine for each case, a channel of answers. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    val cores = settings.cores()
    val capacity =
        when (val capacity = settings.oneOf("capacity", "own", "0", "1", "100", "10000", "unbounded")) {
            "own" -> OWN_CAPACITY
            "unbounded" -> Channel.UNLIMITED
            else -> capacity.toInt()
        }
    val repeats = settings.repeats()
    val path = settings.text("input").ifEmpty { settings.refuse("input", "the path of a file") }
    runBlocking(Dispatchers.Default) {
        var cases = 0L
        try {
            repeat(repeats) { cases += Batch(cores, capacity).run(path) }
        } catch (fault: IOException) { // Fault is one
            System.err.println("input: ${fault.message}")
            exitProcess(2)
        }
        report("::result cases=$cases")
    }
}

/** What is wrong with the input. */
private class Fault(message: String) : IOException(message)

private class Answer(val number: Int, val product: Long, val permits: Int, val computeNs: Long)

private class Batch(cores: Int, capacity: Int) {
    private val answers = Channel<Answer>(capacity)
    private val ahead = Semaphore(MOST_AHEAD)
    /** However large cases are, each core can have one. */
    private val mostPermits = MOST_AHEAD / (cores + 1)
    /** The default dispatcher has two threads at least. */
    private val workers = Dispatchers.Default.limitedParallelism(cores)
    private var readNs = 0L
    private var waitAheadNs = 0L
    private var computeNs = 0L
    private var writeNs = 0L
    private var waitEmptyNs = 0L

    /** Returns how many cases there are. Throws IOException. */
    suspend fun run(path: String): Int {
        val startNs = System.nanoTime()
        val count = coroutineScope {
            launch { writeAll() }
            // Ends when every case has handed over its answer.
            val count = coroutineScope { readAll(path) { text, permits -> launch(workers) { answers.send(solve(text, permits)) } } }
            answers.close()
            count
        }
        val workNs = System.nanoTime() - startNs
        reportPhase("work", workNs)
        reportPhase("read", readNs)
        reportPhase("compute", computeNs)
        reportPhase("write", writeNs)
        reportPhase("wait_ahead", waitAheadNs)
        reportPhase("wait_empty", waitEmptyNs)
        return count
    }

    private suspend fun readAll(path: String, start: (CaseText, Int) -> Unit): Int {
        val startNs = System.nanoTime()
        return CaseReader(path).use { reader ->
            val count = reader.wholeNumber("the number of cases", Int.MAX_VALUE)
            for (number in 1..count) {
                val text = reader.next(number)
                val permits = (1 + text.bytes / PERMIT_BYTES).coerceAtMost(mostPermits)
                val waitingNs = System.nanoTime()
                repeat(permits) { ahead.acquire() } // nobody else acquires
                waitAheadNs += System.nanoTime() - waitingNs
                start(text, permits)
            }
            reader.end(count)
            readNs = System.nanoTime() - startNs - waitAheadNs
            count
        }
    }

    private fun solve(text: CaseText, permits: Int): Answer {
        val startNs = System.nanoTime()
        val product = text.smallestProduct()
        return Answer(text.number, product, permits, System.nanoTime() - startNs)
    }

    /** Writes the answers in the order of the cases, until there are no more. */
    private suspend fun writeAll() {
        val startNs = System.nanoTime()
        val early = HashMap<Int, Answer>() // before their turn
        var next = 1
        while (true) {
            val waitingNs = System.nanoTime()
            val answer = answers.receiveCatching().getOrNull()
            waitEmptyNs += System.nanoTime() - waitingNs
            if (answer == null) break
            computeNs += answer.computeNs
            early[answer.number] = answer
            while (true) {
                val due = early.remove(next) ?: break
                output.println("Case #$next: ${due.product}")
                repeat(due.permits) { ahead.release() }
                next++
            }
        }
        writeNs = System.nanoTime() - startNs - waitEmptyNs
    }
}

/** A case as the input has it. */
private class CaseText(val number: Int, private val size: Int, private val first: String, private val second: String) {
    val bytes get() = first.length + second.length

    /** The smallest scalar product over all orders of the two vectors. */
    fun smallestProduct(): Long {
        val upwards = sorted(first)
        val downwards = sorted(second)
        var product = 0L
        for (i in 0 until size) product += upwards[i].toLong() * downwards[size - 1 - i]
        return product
    }

    private fun sorted(text: String): IntArray {
        val words = if (text.isEmpty()) emptyList() else text.split(' ')
        if (words.size != size) throw Fault("case $number: a vector has ${words.size} numbers instead of $size")
        return IntArray(size) { words[it].toIntOrNull()?.takeIf { value -> value in -LARGEST..LARGEST } ?: throw outOfRange() }
            .apply { sort() }
    }

    private fun outOfRange() = Fault("case $number: numbers must be from -$LARGEST to $LARGEST")
}

/** Reads the input case by case. */
private class CaseReader(path: String) : AutoCloseable {
    private val file = FileInputStream(path)
    /** Bytes from `begin` until `end` are read and not consumed. */
    private var buffer = ByteArray(1 shl 16)
    private var begin = 0
    private var end = 0

    fun next(number: Int): CaseText {
        val size = wholeNumber("case $number: a size", MOST_SIZE)
        return CaseText(number, size, line(size * NUMBER_BYTES), line(size * NUMBER_BYTES))
    }

    fun wholeNumber(what: String, most: Int): Int =
        line(20).toIntOrNull()?.takeIf { it in 0..most } ?: throw Fault("$what must be a whole number from 0 to $most")

    fun end(count: Int) {
        if (begin < end || fill()) throw Fault("it goes on after case $count, the last")
    }

    /** A line of so many bytes at most, without its newline. `readLine` would hide that the last one has none. */
    private fun line(most: Int): String {
        var length = 0
        while (length <= most && (begin + length < end || fill())) {
            if (buffer[begin + length] == '\n'.code.toByte()) {
                val line = String(buffer, begin, length, Charsets.ISO_8859_1)
                begin += length + 1
                return line
            }
            length++
        }
        throw Fault("a line is cut off, or too long")
    }

    /** Reads more behind what is not consumed, which moves to the front; false at the end of the file. */
    private fun fill(): Boolean {
        buffer.copyInto(buffer, 0, begin, end)
        end -= begin
        begin = 0
        if (end == buffer.size) buffer = buffer.copyOf(2 * end)
        val count = file.read(buffer, end, buffer.size - end)
        end += count.coerceAtLeast(0)
        return count > 0
    }

    override fun close() = file.close()
}
