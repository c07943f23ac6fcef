import java.net.InetAddress
import kotlin.system.exitProcess

const val MOST = 1_000_000_000L

/** The arguments, `key=value` each. A value that cannot be used ends the program with status 2 and one line; unknown
 * keys are ignored. */
class Settings(arguments: Array<String>) {
    private val values = arguments.associate { it.substringBefore('=') to it.substringAfter('=', "") }

    fun text(key: String) = values[key].orEmpty()

    fun wholeNumber(key: String, range: LongRange): Long =
        text(key).takeIf { it.length <= 18 && it.all { digit -> digit in '0'..'9' } }?.toLongOrNull()?.takeIf { it in range }
            ?: refuse(key, "a whole number from ${range.first} to ${range.last}")

    fun wholeNumber(key: String, range: LongRange, default: Long) =
        if (key in values) wholeNumber(key, range) else default

    fun cores() = wholeNumber("cores", 1L..1024, 1).toInt()

    fun repeats() = wholeNumber("repeats", 1L..3000, 1).toInt()

    fun port() = wholeNumber("port", 0L..65535, 0).toInt()

    /** The address on which a server listens. */
    fun host(): String {
        val text = values["host"] ?: return "127.0.0.1"
        val isAddress = text.all { it == '.' || it in '0'..'9' } && runCatching { InetAddress.getByName(text) }.isSuccess
        return if (isAddress && text.isNotEmpty()) text else refuse("host", "an IPv4 address")
    }

    fun flag(key: String) = oneOf(key, "0", "1") == "1"

    /** The first choice is the default. */
    fun oneOf(key: String, vararg choices: String) = if (key in values) needed(key, *choices) else choices[0]

    fun needed(key: String, vararg choices: String) =
        text(key).takeIf { it in choices } ?: refuse(key, choices.joinToString(" or "))

    fun refuse(key: String, wanted: String): Nothing {
        val shown = text(key).map { if (it in ' '..'~') it else '?' }.joinToString("")
        System.err.println("$key must be $wanted, not \"$shown\"")
        exitProcess(2)
    }
}
