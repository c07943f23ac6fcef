import java.util.Arrays
import zio.*
import zio.stm.*

/** The accounts: a fiber for each unit and each auditor, and a transactional reference for each account. */
object Accounts extends Program:
  private val factor = 48271L
  private val openingBalance = 1000L
  // A unit reads the clock before and after one of so many transfers.
  private val timed = 16

  def program(settings: Settings): Task[Any] =
    settings.cores
    val problem = Problem(settings)
    val hold = settings.flag("hold")
    val repeats = settings.repeats
    val tally = Tally()
    for
      _ <- ZIO.foreachDiscard(0 until repeats)(i => once(problem, tally, hold && i == 0))
      _ <- report(tally.result)
    yield ()

  private final class Problem(settings: Settings):
    val accounts: Int = settings.wholeNumber("accounts", 2, 100_000).toInt
    val units: Int = settings.wholeNumber("units", 1, 10_000).toInt
    val transfers: Int = settings.wholeNumber("transfers", 1, 1_000_000).toInt
    val auditors: Int = settings.wholeNumber("auditors", 1, 1000).toInt
    val every: Int = settings.wholeNumber("every", 1, 1_000_000).toInt
    val hot: Long = settings.wholeNumber("hot", 0, 100, 0)
    val seed: Long = settings.wholeNumber("seed", 0, 4_294_967_295L, 0)

  /** Shared by all units and auditors. */
  private final class Bank(accounts: Chunk[TRef[Long]]):
    def transfer(source: Int, target: Int, amount: Long): UIO[Unit] =
      (accounts(source).update(_ - amount) *> accounts(target).update(_ + amount)).commit

    def balances: UIO[Chunk[Long]] = STM.foreach(accounts)(_.get).commit

  private def open(accounts: Int): UIO[Bank] =
    ZIO.foreach(Chunk.range(0, accounts))(_ => TRef.makeCommit(openingBalance)).map(Bank(_))

  /** Has all units and auditors do their work, and adds to the tally. */
  private def once(problem: Problem, tally: Tally, hold: Boolean): UIO[Any] =
    for
      bank <- open(problem.accounts)
      _ <- (report("::await name=opened") *> awaitLine).when(hold)
      beginNs <- Clock.nanoTime
      counted <- Ref.make(0L)
      auditors <- ZIO.foreach(Chunk.range(0, problem.auditors)) { _ =>
        Queue.unbounded[Promise[Nothing, Long]].map(Auditor(_, bank, counted, problem))
      }
      auditing <- ZIO.foreach(auditors)(_.work.fork)
      units = Chunk.range(0, problem.units).map(Worker(_, problem, bank, auditors, counted))
      working <- ZIO.foreach(units)(_.work.fork)
      _ <- ZIO.foreachDiscard(working)(_.join)
      _ <- ZIO.foreachDiscard(auditing)(_.interrupt)
      endNs <- Clock.nanoTime
      _ <- reportPhase("transfer", endNs - beginNs)
      balances <- bank.balances
      _ = tally.add(balances, units, auditors)
    yield ()

  /** Makes its transfers, and waits for an audit after so many of them. */
  private final class Worker(
    number: Int,
    problem: Problem,
    bank: Bank,
    auditors: Chunk[Auditor],
    counted: Ref[Long],
  ):
    var made = 0
    val transferNs = new Array[Long]((problem.transfers + timed - 1) / timed)
    val auditNs = new Array[Long](problem.transfers / problem.every)
    private var x = 1 + (problem.seed + number) % (modulus - 1)

    def work: UIO[Unit] = ZIO.foreachDiscard(0 until problem.transfers) { i =>
      val moved = if i % timed == 0 then measured(transferNs, i / timed, transfer) else transfer
      moved *> ZIO.succeed { made += 1 } *> audit(made / problem.every - 1).when(made % problem.every == 0)
    }

    private def transfer: UIO[Unit] =
      val drawn = draw()
      val other = draw() % problem.accounts
      val source = if drawn / 1000 % 100 < problem.hot then 0 else other
      val target = draw() % (problem.accounts - 1)
      bank.transfer(source.toInt, (if target >= source then target + 1 else target).toInt, 1 + drawn % 1000)

    private def audit(turn: Int): UIO[Any] =
      counted.update(_ + problem.every) *>
        measured(auditNs, turn, auditors((number + turn) % problem.auditors).ask)

    private def measured(ns: Array[Long], place: Int, effect: UIO[Any]): UIO[Any] =
      for
        beginNs <- Clock.nanoTime
        _ <- effect
        endNs <- Clock.nanoTime
      yield ns(place) = endNs - beginNs

    private def draw(): Long =
      x = factor * x % modulus
      x

  /** Adds up all accounts for each unit that asks. */
  private final class Auditor(
    questions: Queue[Promise[Nothing, Long]],
    bank: Bank,
    counted: Ref[Long],
    problem: Problem,
  ):
    var audits, wrong = 0L
    // How many transfers had been counted at the first audit, and at the last.
    var first, last = 0L

    def ask: UIO[Long] = Promise.make[Nothing, Long].flatMap(answer => questions.offer(answer) *> answer.await)

    def work: UIO[Nothing] =
      (for
        answer <- questions.take
        balances <- bank.balances
        now <- counted.get
        total = balances.sum
        _ = book(total, now)
        _ <- answer.succeed(total)
      yield ()).forever

    private def book(total: Long, now: Long): Unit =
      if total != problem.accounts * openingBalance then wrong += 1
      last = now
      if audits == 0 then first = now
      audits += 1

  /** Of all repeats, but for the times and what the auditors counted, which are of the last. */
  private final class Tally:
    private var folded, transfers, audits, wrong = 0L
    private var ofLast = ""

    def add(balances: Chunk[Long], units: Chunk[Worker], auditors: Chunk[Auditor]): Unit =
      folded = balances.foldLeft(folded)((folded, each) => (31 * folded + Math.floorMod(each, modulus)) % modulus)
      transfers += units.map(_.made.toLong).sum
      audits += auditors.map(_.audits).sum
      wrong += auditors.map(_.wrong).sum
      ofLast = s"first=${auditors.map(_.first).mkString(",")} last=${auditors.map(_.last).mkString(",")} " +
        s"${percentiles("transfer", units.map(_.transferNs))} ${percentiles("audit", units.map(_.auditNs))}"

    def result: String = s"::result balances=$folded transfers=$transfers audits=$audits wrong=$wrong $ofLast"

  /** The smallest times that so many percent do not exceed; 0 where there is none. */
  private def percentiles(name: String, times: Chunk[Array[Long]]): String =
    val all = Array.concat(times*)
    Arrays.sort(all)
    def at(percent: Long): Long = if all.isEmpty then 0 else all(((all.length * percent + 99) / 100 - 1).toInt)
    s"${name}_p50_ns=${at(50)} ${name}_p99_ns=${at(99)} ${name}_max_ns=${at(100)}"
