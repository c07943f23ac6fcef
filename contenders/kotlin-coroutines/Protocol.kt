import java.io.BufferedOutputStream
import java.io.FileDescriptor
import java.io.FileOutputStream
import java.io.IOException
import java.io.OutputStream
import java.io.PrintStream
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext

const val MODULUS = 2147483647L
const val BACKLOG = 4096

/** Standard output in blocks: `System.out` writes each line by itself. */
val output = PrintStream(BufferedOutputStream(FileOutputStream(FileDescriptor.out), 1 shl 16), false)

/** Writes a protocol line at once. */
fun report(line: String) {
    output.println(line)
    if (output.checkError()) { // which flushes
        System.err.println("cannot write to stdout")
        exitProcess(1)
    }
}

fun reportPhase(name: String, ns: Long) = report("::phase name=$name ns=$ns")

/** Waits for a line on stdin, or its end. */
suspend fun awaitLine() {
    withContext(Dispatchers.IO) { readlnOrNull() }
}

/** From now on SIGTERM and the end of stdin end the program with status 0, whatever is in progress. */
fun ready(port: Int) {
    val runtime = Runtime.getRuntime()
    runtime.addShutdownHook(Thread { runtime.halt(0) })
    thread(isDaemon = true) {
        try {
            System.`in`.transferTo(OutputStream.nullOutputStream())
        } catch (_: IOException) {
            // An end too.
        }
        runtime.halt(0)
    }
    report("::ready port=$port")
}

fun refusePort(port: Int): Nothing {
    System.err.println("port must be one that is free, not $port")
    exitProcess(2)
}
