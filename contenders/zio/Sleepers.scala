import java.util.concurrent.atomic.AtomicInteger
import zio.*

/** The sleepers: a fiber for each, and a queue to the main fiber, which collects. */
object Sleepers extends Program:
  private val factor = 48271L
  private val secondNs = 1_000_000_000L

  /** A task hands over its number and its lateness. */
  private case class Wake(number: Long, lateNs: Long)

  def program(settings: Settings): Task[Any] =
    settings.cores
    val tasks = settings.wholeNumber("tasks", 1, 1_000_000).toInt
    val lastSecondNs = (settings.wholeNumber("seconds", 2, 3600) - 1) * secondNs
    val seed = settings.wholeNumber("seed", 0, 4_294_967_295L, 0)
    val hold = settings.flag("hold")
    for
      beginNs <- Clock.nanoTime
      wakes <- Queue.unbounded[Wake]
      allAsleep <- Promise.make[Nothing, Unit]
      asleep = AtomicInteger()
      start = (number: Long) =>
        (allAsleep.succeed(()).when(asleep.incrementAndGet() == tasks) *>
          sleep(number, beginNs + lastSecondNs + number * secondNs / modulus, wakes)).fork
      _ <- ZIO.foreachDiscard(Iterator.iterate(first(seed))(next).take(tasks).to(Iterable))(start)
      _ <- allAsleep.await
      startedNs <- Clock.nanoTime
      _ <- reportPhase("start", startedNs - beginNs)
      _ <- (report("::await name=started") *> awaitLine).when(hold)
      _ <- collect(tasks, beginNs, wakes)
    yield ()

  private def first(seed: Long): Long = next(1 + seed % (modulus - 1))

  private def next(x: Long): Long = factor * x % modulus

  private def sleep(number: Long, dueNs: Long, wakes: Queue[Wake]): UIO[Any] =
    Clock.nanoTime.flatMap { nowNs =>
      if nowNs >= dueNs then wakes.offer(Wake(number, nowNs - dueNs))
      else ZIO.sleep((dueNs - nowNs).nanos) *> sleep(number, dueNs, wakes)
    }

  private def collect(tasks: Int, beginNs: Long, wakes: Queue[Wake]): UIO[Any] =
    val numbers = new Array[Long](tasks)
    val lateNs = new Array[Long](tasks)
    val reports = tasks.min(10).toLong
    val take = (i: Int) =>
      wakes.take.flatMap { wake =>
        numbers(i) = wake.number
        lateNs(i) = wake.lateNs
        val isPart = (i + 1) * reports / tasks > i * reports / tasks
        if isPart then Clock.nanoTime.flatMap(nowNs => reportPhase("wake", nowNs - beginNs)) else ZIO.unit
      }
    ZIO.foreachDiscard(0 until tasks)(take) *> ZIO.suspendSucceed {
      java.util.Arrays.sort(numbers)
      java.util.Arrays.sort(lateNs)
      val order = numbers.foldLeft(0L)((order, number) => (31 * order + number) % modulus)
      // The smallest lateness that so many percent do not exceed.
      val late = (percent: Long) => lateNs(((tasks * percent + 99) / 100 - 1).toInt)
      report(
        s"::result sum=${numbers.sum} order=$order late_p50_ns=${late(50)} late_p99_ns=${late(99)} " +
          s"late_max_ns=${late(100)}"
      )
    }
