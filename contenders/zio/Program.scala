import java.io.{BufferedOutputStream, FileDescriptor, FileOutputStream, IOException, OutputStream, PrintStream}
import zio.*

val modulus = 2147483647L
val backlog = 4096

/** A program: its arguments, standard output and input, and how a server begins and ends. */
trait Program extends ZIOAppDefault:
  // A log would be on standard output.
  override val bootstrap: ZLayer[ZIOAppArgs, Any, Any] = Runtime.removeDefaultLoggers

  def program(settings: Settings): ZIO[Scope, Throwable, Any]

  override def run: ZIO[ZIOAppArgs & Scope, Any, Any] =
    getArgs.flatMap(arguments => ZIO.suspend(program(Settings(arguments)))).catchSome { case refusal: Refusal =>
      Console.printLineError(refusal.getMessage) *> exit(ExitCode(2))
    }

  /** In blocks: `System.out` writes each line by itself. */
  private val out = PrintStream(BufferedOutputStream(FileOutputStream(FileDescriptor.out), 1 << 16), false)

  def print(line: String): UIO[Unit] = ZIO.succeed(out.println(line))

  /** Writes a protocol line at once. */
  def report(line: String): UIO[Unit] = ZIO.succeed {
    out.println(line)
    out.flush()
  }

  def reportPhase(name: String, ns: Long): UIO[Unit] = report(s"::phase name=$name ns=$ns")

  /** Waits for a line, or the end of stdin, which is as good. */
  val awaitLine: UIO[Unit] = ZIO.attemptBlocking {
    var byte = 0
    while byte >= 0 && byte != '\n' do byte = java.lang.System.in.read()
  }.ignore

  /** From now on SIGTERM and the end of stdin end the program with status 0, whatever is in progress. */
  def ready(port: Int): UIO[Unit] = ZIO.succeed {
    val runtime = java.lang.Runtime.getRuntime
    runtime.addShutdownHook(Thread(() => runtime.halt(0)))
    Thread
      .ofPlatform()
      .daemon()
      .start { () =>
        try java.lang.System.in.transferTo(OutputStream.nullOutputStream())
        catch case _: IOException => () // an end too
        runtime.halt(0)
      }
  } *> report(s"::ready port=$port")

  def portTaken(port: Int): Refusal = Refusal(s"port must be one that is free, not $port")
