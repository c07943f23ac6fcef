import java.net.InetAddress
import scala.util.Try

/** A value that cannot be used: ends the program with status 2 and one line. */
final class Refusal(message: String) extends Exception(message, null, false, false)

/** The arguments, `key=value` each. Unknown keys are ignored. */
final class Settings(arguments: Iterable[String]):
  private val values = arguments.map { argument =>
    val (key, value) = argument.span(_ != '=')
    key -> value.drop(1)
  }.toMap

  def text(key: String): String = values.getOrElse(key, "")

  def wholeNumber(key: String, least: Long, most: Long): Long =
    Some(text(key))
      .filter(_.matches("[0-9]{1,18}"))
      .map(_.toLong)
      .filter(number => least <= number && number <= most)
      .getOrElse(refuse(key, s"a whole number from $least to $most"))

  def wholeNumber(key: String, least: Long, most: Long, default: Long): Long =
    if values.contains(key) then wholeNumber(key, least, most) else default

  def cores: Int = wholeNumber("cores", 1, 1024, 1).toInt

  def repeats: Int = wholeNumber("repeats", 1, 3000, 1).toInt

  def port: Int = wholeNumber("port", 0, 65535, 0).toInt

  /** The address on which a server listens. */
  def host: InetAddress =
    val text = values.getOrElse("host", "127.0.0.1")
    Option
      .when(text.matches("[0-9.]+"))(text)
      .flatMap(address => Try(InetAddress.getByName(address)).toOption)
      .getOrElse(refuse("host", "an IPv4 address"))

  def flag(key: String): Boolean = oneOf(key, "0", "1") == "1"

  /** The first choice is the default. */
  def oneOf(key: String, choices: String*): String =
    if values.contains(key) then needed(key, choices*) else choices.head

  def needed(key: String, choices: String*): String =
    if choices.contains(text(key)) then text(key) else refuse(key, choices.mkString(" or "))

  def refuse(key: String, wanted: String): Nothing =
    val shown = text(key).map(letter => if ' ' <= letter && letter <= '~' then letter else '?')
    throw Refusal(s"$key must be $wanted, not \"$shown\"")

object Settings:
  val most = 1_000_000_000L
