import zio.*

/** The background jobs: a fiber for each, and one for the heart. */
object Jobs extends Program:
  private val factor = 48271L
  private val timesAlone = 5
  private val beat = 10.millis

  private case class Answer(value: Long, place: Int, beginNs: Long, endNs: Long)

  /** What all jobs so far have given. */
  private case class Sums(order: Long = 0, beats: Long = 0)

  private case class Heart(beats: Long, lastNs: Long, gapNs: Long):
    def lookBack(nowNs: Long): Heart = copy(lastNs = nowNs, gapNs = gapNs.max(nowNs - lastNs))

  def program(settings: Settings): Task[Any] =
    settings.cores
    val jobs = Jobs(settings)
    val hold = settings.flag("hold")
    val repeats = settings.repeats
    for
      alone <- jobs.alone
      sums <- ZIO.foldLeft(0 until repeats)(Sums())((sums, i) => jobs.inBackground(sums, hold && i == 0))
      answers = repeats * jobs.count
      _ <- report(s"::result answers=$answers order=${sums.order} beats=${sums.beats} alone=$alone")
    yield ()

  private final class Jobs(settings: Settings):
    val count: Long = settings.wholeNumber("jobs", 1, 1_000_000)
    private val kind = settings.needed("kind", "sleep", "cpu", "noop")
    private val duration = settings.wholeNumber("duration_ms", 0, 3_600_000, 1000).millis
    private val rounds = settings.wholeNumber("rounds", 1, Settings.most, 1_000_000)
    private val workers = settings.wholeNumber("workers", 1, 1024).toInt
    private val seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0)
    private val trace = settings.flag("trace")

    /** Each begins with the answer of the one before. */
    def alone: UIO[Long] =
      ZIO.foldLeft(1 to (if kind == "cpu" then timesAlone else 0))(first(0)) { (x, _) =>
        for
          startNs <- Clock.nanoTime
          answer = compute(x)
          endNs <- Clock.nanoTime
          _ <- reportPhase("alone", endNs - startNs)
        yield answer
      }

    /** All jobs, once. */
    def inBackground(before: Sums, hold: Boolean): UIO[Sums] =
      for
        startNs <- Clock.nanoTime
        places <- Queue.bounded[Int](workers)
        _ <- places.offerAll(0 until workers)
        fibers <- ZIO.foreach(Chunk.range(0, count.toInt))(i => inPlace(places, first(i)).fork)
        submittedNs <- Clock.nanoTime
        heart <- Ref.make(Heart(0, submittedNs, 0))
        beating <- beats(heart).fork
        _ <- reportPhase("submit", submittedNs - startNs)
        _ <- (report("::await name=submitted") *> awaitLine).when(hold)
        answers <- ZIO.foreach(fibers)(_.join)
        endNs <- Clock.nanoTime
        _ <- reportPhase("makespan", endNs - startNs)
        _ <- beating.interrupt
        end <- heart.get.map(_.lookBack(endNs))
        _ <- reportPhase("gap", end.gapNs)
        _ <- ZIO.foreachDiscard(answers)(span(_, startNs)).when(trace)
        order = answers.foldLeft(before.order)((order, answer) => (31 * order + answer.value) % modulus)
      yield Sums(order, before.beats + end.beats)

    private def beats(heart: Ref[Heart]): UIO[Nothing] =
      (ZIO.sleep(beat) *> Clock.nanoTime.flatMap { nowNs =>
        heart.update(before => before.lookBack(nowNs).copy(beats = before.beats + 1))
      }).forever

    /** The queue is a semaphore whose places have numbers. */
    private def inPlace(places: Queue[Int], x: Long): UIO[Answer] =
      ZIO.acquireReleaseWith(places.take)(places.offer(_)) { place =>
        for
          beginNs <- Clock.nanoTime
          _ <- if kind == "sleep" then ZIO.sleep(duration) else ZIO.unit
          value = compute(x)
          endNs <- Clock.nanoTime
        yield Answer(value, place, beginNs, endNs)
      }

    private def span(answer: Answer, startNs: Long): UIO[Unit] =
      print(s"::span unit=${answer.place} begin=${answer.beginNs - startNs} end=${answer.endNs - startNs}")

    private def first(number: Long): Long = 1 + (seed + number) % (modulus - 1)

    private def compute(begin: Long): Long =
      var x = begin
      var round = if kind == "cpu" then rounds else 1
      while round > 0 do
        x = factor * x % modulus
        round -= 1
      x
