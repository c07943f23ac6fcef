import java.util.concurrent.atomic.AtomicLong
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock

private const val FACTOR = 48271L
private const val OPENING_BALANCE = 1000L

/** A unit reads the clock before and after one of so many transfers. */
private const val TIMED = 16

/** The accounts: a coroutine for each unit and each auditor, and a mutex for each account, which suspends who waits;
 * with `sharing=one-lock` one for all. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    settings.cores()
    val problem = Problem(settings)
    val hold = settings.flag("hold")
    val repeats = settings.repeats()
    runBlocking(Dispatchers.Default) {
        var totals = Totals()
        repeat(repeats) { totals = problem.once(hold && it == 0, totals) }
        totals.report()
    }
}

/** Shared by all units and auditors. */
private interface Bank {
    suspend fun transfer(source: Int, target: Int, amount: Long)

    /** A consistent copy. */
    suspend fun balances(): LongArray
}

private class Account {
    val mutex = Mutex()
    var balance = OPENING_BALANCE
}

/** A unit takes several locks in the order of the accounts, so that no two wait for each other. */
private class LockForEach(accounts: Int) : Bank {
    private val accounts = List(accounts) { Account() }

    override suspend fun transfer(source: Int, target: Int, amount: Long) {
        accounts[minOf(source, target)].mutex.withLock {
            accounts[maxOf(source, target)].mutex.withLock {
                accounts[source].balance -= amount
                accounts[target].balance += amount
            }
        }
    }

    override suspend fun balances(): LongArray {
        accounts.forEach { it.mutex.lock() }
        try {
            return LongArray(accounts.size) { accounts[it].balance }
        } finally {
            accounts.forEach { it.mutex.unlock() }
        }
    }
}

private class OneLock(accounts: Int) : Bank {
    private val mutex = Mutex()
    private val balances = LongArray(accounts) { OPENING_BALANCE }

    override suspend fun transfer(source: Int, target: Int, amount: Long) {
        mutex.withLock {
            balances[source] -= amount
            balances[target] += amount
        }
    }

    override suspend fun balances() = mutex.withLock { balances.clone() }
}

/** An auditor's observations. `first`, `last`: how many transfers had been counted. */
private class Seen(var audits: Long = 0, var wrong: Long = 0, var first: Long = 0, var last: Long = 0)

private class Worked(val made: Long, val transferNs: LongArray, val auditNs: LongArray)

/** Of all repeats, but for what units and auditors did in the last. */
private class Totals(
    val folded: Long = 0,
    val made: Long = 0,
    val audits: Long = 0,
    val wrong: Long = 0,
    val worked: List<Worked> = emptyList(),
    val seen: List<Seen> = emptyList(),
) {
    fun report() = report(
        "::result balances=$folded transfers=$made audits=$audits wrong=$wrong " +
            "first=${seen.joinToString(",") { "${it.first}" }} last=${seen.joinToString(",") { "${it.last}" }} " +
            "${percentiles("transfer", worked.map { it.transferNs })} ${percentiles("audit", worked.map { it.auditNs })}",
    )

    /** The smallest times that so many percent do not exceed; 0 where there is none. */
    private fun percentiles(name: String, times: List<LongArray>): String {
        val sorted = times.flatMap { it.asList() }.sorted()
        fun at(percent: Int) = if (sorted.isEmpty()) 0 else sorted[(sorted.size * percent + 99) / 100 - 1]
        return "${name}_p50_ns=${at(50)} ${name}_p99_ns=${at(99)} ${name}_max_ns=${at(100)}"
    }
}

private class Problem(settings: Settings) {
    private val accounts = settings.wholeNumber("accounts", 2L..100_000).toInt()
    private val units = settings.wholeNumber("units", 1L..10_000).toInt()
    private val transfers = settings.wholeNumber("transfers", 1L..1_000_000).toInt()
    private val auditors = settings.wholeNumber("auditors", 1L..1000).toInt()
    private val every = settings.wholeNumber("every", 1L..1_000_000).toInt()
    private val hot = settings.wholeNumber("hot", 0L..100, 0)
    private val seed = settings.wholeNumber("seed", 0..4_294_967_295, 0)
    private val isOneLock = settings.oneOf("sharing", "lock-for-each", "one-lock") == "one-lock"

    /** Has all units and auditors do their work. */
    suspend fun once(hold: Boolean, before: Totals): Totals = coroutineScope {
        val bank = if (isOneLock) OneLock(accounts) else LockForEach(accounts)
        if (hold) {
            report("::await name=opened")
            awaitLine()
        }
        val beginNs = System.nanoTime()
        val counted = AtomicLong()
        val questions = List(auditors) { Channel<CompletableDeferred<Long>>() }
        val auditing = questions.map { async { audit(bank, counted, it) } }
        val worked = List(units) { async { work(it, bank, counted, questions) } }.awaitAll()
        questions.forEach { it.close() }
        val seen = auditing.awaitAll()
        report("::phase name=transfer ns=${System.nanoTime() - beginNs}")
        val fold = { folded: Long, balance: Long -> (31 * folded + balance.mod(MODULUS)) % MODULUS }
        Totals(
            bank.balances().fold(before.folded, fold),
            before.made + worked.sumOf { it.made },
            before.audits + seen.sumOf { it.audits },
            before.wrong + seen.sumOf { it.wrong },
            worked,
            seen,
        )
    }

    /** Adds up all accounts for each unit that asks. */
    private suspend fun audit(bank: Bank, counted: AtomicLong, questions: Channel<CompletableDeferred<Long>>): Seen {
        val seen = Seen()
        for (answer in questions) {
            val total = bank.balances().sum()
            if (total != accounts * OPENING_BALANCE) seen.wrong++
            seen.last = counted.get()
            if (seen.audits++ == 0L) seen.first = seen.last
            answer.complete(total)
        }
        return seen
    }

    /** A unit makes its transfers. After every so many of them it waits for an audit. */
    private suspend fun work(
        unit: Int,
        bank: Bank,
        counted: AtomicLong,
        auditors: List<Channel<CompletableDeferred<Long>>>,
    ): Worked {
        val transferNs = LongArray((transfers + TIMED - 1) / TIMED)
        val auditNs = LongArray(transfers / every)
        var x = 1 + (seed + unit) % (MODULUS - 1)
        var made = 0
        while (made < transfers) {
            x = FACTOR * x % MODULUS
            val drawn = x
            x = FACTOR * x % MODULUS
            val source = if (drawn / 1000 % 100 < hot) 0 else (x % accounts).toInt()
            x = FACTOR * x % MODULUS
            var target = (x % (accounts - 1)).toInt()
            if (target >= source) target++
            if (made % TIMED == 0) {
                val beginNs = System.nanoTime()
                bank.transfer(source, target, 1 + drawn % 1000)
                transferNs[made / TIMED] = System.nanoTime() - beginNs
            } else {
                bank.transfer(source, target, 1 + drawn % 1000)
            }
            made++
            if (made % every == 0) {
                counted.addAndGet(every.toLong())
                val turn = made / every - 1
                val beginNs = System.nanoTime()
                val answer = CompletableDeferred<Long>()
                auditors[(unit + turn) % auditors.size].send(answer)
                answer.await()
                auditNs[turn] = System.nanoTime() - beginNs
            }
        }
        return Worked(made.toLong(), transferNs, auditNs)
    }
}
