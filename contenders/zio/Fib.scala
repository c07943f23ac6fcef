import java.io.IOException
import java.net.{InetSocketAddress, StandardSocketOptions}
import java.nio.ByteBuffer
import java.nio.channels.{AsynchronousServerSocketChannel, AsynchronousSocketChannel}
import zio.*

/** The fibonacci service: the JDK's asynchronous sockets, a fiber for each connection, which reads, computes and
  * writes. */
object Fib extends Program:
  /** Bytes of a line, its newline included. */
  private val longest = 100
  private val largest = 90
  private val tooLong = s"error: a line may have $longest bytes\n"
  private val notAnswered = s"error: n must be a whole number from 1 to $largest\n"
  private val grace = 1.second
  /** Until it accepts again, where no descriptor is free. */
  private val pause = 10.millis

  def program(settings: Settings): Task[Any] =
    settings.cores
    val address = InetSocketAddress(settings.host, settings.port)
    for
      listener <- ZIO
        .attempt(AsynchronousServerSocketChannel.open().bind(address, backlog))
        .mapError(_ => portTaken(address.getPort))
      _ <- ready(listener.getLocalAddress.asInstanceOf[InetSocketAddress].getPort)
      _ <- ZIO
        .asyncWithCompletionHandler[AsynchronousSocketChannel](listener.accept((), _))
        .flatMap(client => converse(client).ensuring(ZIO.succeed(client.close())).ignore.forkDaemon)
        .catchAll(_ => ZIO.sleep(pause))
        .forever
    yield ()

  /** Answers one client's requests until it closes. */
  private def converse(client: AsynchronousSocketChannel): Task[Any] =
    val unread = ByteBuffer.allocate(4096)
    def next: Task[Any] = read(client, unread).flatMap { count =>
      if count < 0 then ZIO.unit
      else
        unread.flip()
        val answers = StringBuilder()
        var end = newline(unread)
        while end >= 0 do
          answers ++= answer(unread, end)
          end = newline(unread)
        val isTooLong = unread.remaining >= longest
        unread.compact()
        if isTooLong then write(client, answers ++= tooLong) *> hangUp(client)
        else write(client, answers) *> next
    }
    ZIO.attempt(client.setOption(StandardSocketOptions.TCP_NODELAY, true)) *> next

  private def read(client: AsynchronousSocketChannel, buffer: ByteBuffer): Task[Int] =
    ZIO.asyncWithCompletionHandler[Integer](client.read(buffer, (), _)).map(_.intValue)

  private def write(client: AsynchronousSocketChannel, text: StringBuilder): Task[Any] =
    val buffer = ByteBuffer.wrap(text.toString.getBytes)
    def rest: Task[Any] =
      if !buffer.hasRemaining then ZIO.unit
      else ZIO.asyncWithCompletionHandler[Integer](client.write(buffer, (), _)) *> rest
    rest

  /** Closing with bytes unread would reset the connection, and the client might miss the answer. */
  private def hangUp(client: AsynchronousSocketChannel): Task[Any] =
    val unused = ByteBuffer.allocate(4096)
    ZIO.attempt(client.shutdownOutput()) *>
      ZIO.suspend(read(client, unused.clear())).repeatUntil(_ < 0).timeout(grace)

  /** Where the next line ends; -1 where its newline is not there yet, or it is too long. */
  private def newline(bytes: ByteBuffer): Int =
    val last = bytes.limit.min(bytes.position + longest)
    var at = bytes.position
    while at < last && bytes.get(at) != '\n' do at += 1
    if at < last then at else -1

  /** Takes a line that ends there. */
  private def answer(bytes: ByteBuffer, end: Int): String =
    var n = 0
    var isNumber = true
    while bytes.position < end do
      val digit = bytes.get() - '0'
      isNumber &&= 0 <= digit && digit <= 9
      n = (10 * n + digit).min(largest + 1)
    bytes.get()
    if isNumber && 1 <= n && n <= largest then s"${fib(n)}\n" else notAnswered

  private def fib(n: Int): Long = if n <= 2 then 1 else fib(n - 1) + fib(n - 2)
