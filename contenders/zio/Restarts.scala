import zio.*

/** The restarts: a fiber for each unit. One that fails tells the main fiber, which forks another. */
object Restarts extends Program:
  private val factor = 48271L

  private final class Failure extends Exception("a message that makes its unit fail")

  private case class Message(number: Long, fails: Boolean)

  /** What the collector receives. */
  private enum Event:
    case Answer(unit: Int, handled: Long, folded: Long, bornNs: Long)
    case Failed(unit: Int)

  def program(settings: Settings): Task[Any] =
    settings.cores
    val units = settings.wholeNumber("units", 1, 100_000).toInt
    val messages = settings.wholeNumber("messages", 2, 1_000_000)
    val failingBelow = modulus / settings.wholeNumber("every", 2, 1_000_000)
    val seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0)
    for
      beginNs <- Clock.nanoTime
      events <- Queue.unbounded[Event]
      inboxes <- ZIO.foreach((0 until units).toArray)(start(_, events))
      startedNs <- Clock.nanoTime
      _ <- reportPhase("start", startedNs - beginNs)
      books = Books(units, messages, failingBelow, seed)
      _ <- ZIO.foreachDiscard(List("warm", "failing", "calm"))(pass(_, books, inboxes, events))
      _ <- report(books.result)
    yield ()

  /** The queue of a new unit. */
  private def start(unit: Int, events: Queue[Event]): UIO[Queue[Message]] =
    Queue.bounded[Message](1).tap { inbox =>
      serve(unit, inbox, events).tapError(_ => events.offer(Event.Failed(unit))).fork
    }

  private def serve(unit: Int, inbox: Queue[Message], events: Queue[Event]): IO[Failure, Nothing] =
    Clock.nanoTime.flatMap { bornNs =>
      def next(handled: Long, folded: Long): IO[Failure, Nothing] = inbox.take.flatMap { message =>
        if message.fails then ZIO.fail(Failure())
        else
          val fold = (31 * folded + message.number) % modulus
          events.offer(Event.Answer(unit, handled + 1, fold, bornNs)) *> next(handled + 1, fold)
      }
      next(0, 0)
    }

  private def pass(
    name: String,
    books: Books,
    inboxes: Array[Queue[Message]],
    events: Queue[Event],
  ): UIO[Unit] =
    def send(unit: Int): UIO[Any] = ZIO.suspendSucceed(inboxes(unit).offer(books.message(unit)))
    def handle(event: Event): UIO[Any] = event match
      case answer: Event.Answer => if books.takes(answer) then send(answer.unit) else ZIO.unit
      case Event.Failed(unit) =>
        books.failed(unit)
        start(unit, events).flatMap { inbox =>
          inboxes(unit) = inbox
          send(unit)
        }
    def collect: UIO[Any] =
      ZIO.suspendSucceed(if books.open == 0 then ZIO.unit else events.take.flatMap(handle) *> collect)
    for
      beginNs <- Clock.nanoTime
      _ = books.begin(name)
      _ <- ZIO.foreachDiscard(inboxes.indices)(send)
      _ <- collect
      endNs <- Clock.nanoTime
      _ <- reportPhase(name, endNs - beginNs)
    yield ()

  /** The collector's knowledge of a unit. */
  private final class Served(var number: Long):
    var left = 0L
    var folded = 0L
    var sentNs = 0L
    // When the message was sent that made it fail, until it has answered since.
    var failedNs: Option[Long] = None

  /** Times in nanoseconds, so many of them. */
  private final class Times(most: Int):
    private val ns = new Array[Long](most)
    private var count = 0

    def add(time: Long): Unit =
      ns(count) = time
      count += 1

    def clear(): Unit = count = 0

    /** The smallest that so many percent do not exceed; 0 where there is none. */
    def percentiles(name: String): String =
      java.util.Arrays.sort(ns, 0, count)
      def at(percent: Long): Long = if count == 0 then 0 else ns(((count * percent + 99) / 100 - 1).toInt)
      s"${name}_p50_ns=${at(50)} ${name}_p99_ns=${at(99)} ${name}_max_ns=${at(100)}"

  private final class Books(count: Int, messages: Long, failingBelow: Long, seed: Long):
    private val units = Array.tabulate(count)(unit => Served(1 + (seed + unit) % (modulus - 1)))
    private val most = Math.multiplyExact(count.toLong, messages).toInt
    private val (answer, recovery, calm) = (Times(most), Times(most), Times(most))
    private var failing = false
    private var answers, failures, fresh = 0L

    /** Units with messages left in this pass. */
    var open = 0

    def begin(pass: String): Unit =
      failing = pass == "failing"
      others.clear()
      open = count
      for unit <- units do unit.left = messages

    /** The unit's next message, which is sent now. */
    def message(index: Int): Message =
      val unit = units(index)
      unit.number = factor * unit.number % modulus
      unit.left -= 1
      val fails = failing && unit.number < failingBelow && unit.left > 0 && unit.failedNs.isEmpty
      unit.sentNs = java.lang.System.nanoTime()
      Message(unit.number, fails)

    def failed(index: Int): Unit =
      failures += 1
      units(index).failedNs = Some(units(index).sentNs)

    /** Takes an answer, and returns whether the unit has another message. */
    def takes(event: Event.Answer): Boolean =
      val nowNs = java.lang.System.nanoTime()
      val unit = units(event.unit)
      unit.failedNs match
        case None => others.add(nowNs - unit.sentNs)
        case Some(failedNs) =>
          if event.bornNs - failedNs >= 0 then fresh += 1
          recovery.add(nowNs - failedNs)
          unit.failedNs = None
      answers += 1
      unit.folded = (31 * unit.folded + event.folded + event.handled) % modulus
      if unit.left == 0 then open -= 1
      unit.left > 0

    def result: String =
      val order = units.foldLeft(0L)((order, unit) => (31 * order + unit.folded) % modulus)
      val times = Seq(answer.percentiles("answer"), recovery.percentiles("recovery"), calm.percentiles("calm"))
      s"::result answers=$answers failures=$failures fresh=$fresh order=$order ${times.mkString(" ")}"

    private def others = if failing then answer else calm
