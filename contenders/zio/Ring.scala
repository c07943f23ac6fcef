import zio.*

/** The ring: a fiber for each unit, a queue between neighbours. */
object Ring extends Program:
  /** Unit N's result over all values, including those of earlier rings. */
  private case class Evidence(checksum: Long = 0, order: Long = 0, endNs: Long = 0)

  private val ownCapacity = 100

  def program(settings: Settings): Task[Any] =
    settings.cores
    val ring = Ring(settings)
    val hold = settings.flag("hold")
    // Not in the call, which takes it by name: a refusal in there would be a defect.
    val repeats = settings.repeats
    ZIO
      .foldLeft(0 until repeats)(Evidence())((evidence, i) => ring.once(evidence, hold && i == 0))
      .flatMap(evidence => report(s"::result checksum=${evidence.checksum} order=${evidence.order}"))

  private final class Ring(settings: Settings):
    private val nodes = settings.wholeNumber("nodes", 2, Settings.most)
    private val messages = settings.wholeNumber("messages", 1, Settings.most)
    private val newQueue: UIO[Queue[Long]] =
      settings.oneOf("capacity", "own", "1", "30", "1000", "unbounded") match
        case "own"       => Queue.bounded(ownCapacity)
        case "unbounded" => Queue.unbounded
        case places      => Queue.bounded(places.toInt)
    private val token = settings.oneOf("mode", "pipelined", "token") == "token"
    private val trace = settings.flag("trace")

    def once(before: Evidence, hold: Boolean): UIO[Evidence] =
      for
        startNs <- Clock.nanoTime
        first <- newQueue
        arrived <- Queue.bounded[Unit](1)
        last <- ZIO.foldLeft(1L until nodes)(first) { (inbox, i) =>
          newQueue.tap(outbox => relay(i, inbox, outbox).fork)
        }
        done <- lastUnit(last, arrived, before).fork
        spawnedNs <- Clock.nanoTime
        _ <- reportPhase("spawn", spawnedNs - startNs)
        _ <- (report("::await name=spawned") *> awaitLine).when(hold)
        relayNs <- Clock.nanoTime
        _ <- feed(first, arrived, messages - 1)
        evidence <- done.join
        _ <- reportPhase("relay", evidence.endNs - relayNs)
      yield evidence

    private def feed(first: Queue[Long], arrived: Queue[Unit], r: Long): UIO[Unit] =
      val send = first.offer(r) *> (if token then arrived.take else ZIO.unit)
      if r == 0 then send else send *> feed(first, arrived, r - 1)

    /** Unit i, one of 1 … N-1. */
    private def relay(i: Long, inbox: Queue[Long], outbox: Queue[Long]): UIO[Any] =
      val end = terminator(i)
      def next: UIO[Any] = inbox.take.flatMap { value =>
        val send = outbox.offer(value + i)
        val handle =
          if !trace then send
          else if value > end then traced(name => s": Proc: $name, Seq#: $i, Msg#: ${value - end} ..") *> send
          else traced(name => s"* Proc: $name, Seq#: $i, Msg#: terminate!") *> send
        if value == end then handle else handle *> next
      }
      next

    /** Unit N: the evidence when the last message came. */
    private def lastUnit(inbox: Queue[Long], arrived: Queue[Unit], before: Evidence): UIO[Evidence] =
      val end = terminator(nodes)
      def next(checksum: Long, order: Long): UIO[Evidence] = inbox.take.flatMap { value =>
        val (sum, hash) = (checksum + value, (31 * order + value) % modulus)
        val line =
          if !trace then ZIO.unit
          else if value > end then traced(name => s"> Proc: $name, Seq#: $nodes, Msg#: ${value - end} ..")
          else traced(name => s"@ Proc: $name, Seq#: $nodes, ring terminated.")
        val handle = if token then line *> arrived.offer(()) else line
        if value == end then handle *> Clock.nanoTime.map(Evidence(sum, hash, _)) else handle *> next(sum, hash)
      }
      next(before.checksum, before.order)

    private def traced(line: String => String): UIO[Unit] =
      ZIO.fiberIdWith(id => print(line(id.threadName)))

    /** Message 0, which ends the ring, as unit i receives it: the units before have added their numbers. */
    private def terminator(i: Long): Long = i * (i - 1) / 2
