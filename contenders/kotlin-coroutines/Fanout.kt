import io.ktor.client.HttpClient
import io.ktor.client.engine.cio.CIO as ClientCIO
import io.ktor.client.request.get
import io.ktor.client.request.header
import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.ApplicationCall
import io.ktor.server.cio.CIO
import io.ktor.server.request.path
import io.ktor.server.response.respond
import io.ktor.server.response.respondBytesWriter
import io.ktor.server.routing.get
import io.ktor.utils.io.writeStringUtf8
import kotlin.coroutines.coroutineContext
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.onTimeout
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull

private const val UNITS = 3
private const val BAD_UPSTREAM = 400
private const val REQUEST_ID = "X-Request-Id"
private val UPSTREAM = Regex("""http://127\.0\.0\.1:[1-9][0-9]{0,4}(/[!-~]*)?""")

/** The gateway: Ktor's server and client on its engine CIO, a coroutine for each request and each call. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    settings.cores()
    val gateway = Gateway(settings)
    serve(settings) {
        get("/") {
            // To routes `//` is the same.
            if (call.request.path() == "/") gateway.answer(call) else call.respond(HttpStatusCode.NotFound)
        }
    }
}

private class Gateway(settings: Settings) {
    private val client = HttpClient(ClientCIO) { followRedirects = false }
    private val kind = settings.needed("kind", "io", "cpu", "mixed")
    private val tickMs = settings.wholeNumber("tick_ms", 1..MOST, 50)
    private val timeoutMs = settings.wholeNumber("timeout_ms", 1..MOST, 5000)
    private val work = settings.wholeNumber("work", 1..MOST, 100_000)
    private val upstreams = if (kind == "cpu") emptyList() else upstreams(settings)

    private fun upstreams(settings: Settings): List<String> {
        val urls = settings.text("upstreams").split(',')
        val usable = urls.size == UNITS && urls.all { it.matches(UPSTREAM) }
        return if (usable) urls else settings.refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them")
    }

    suspend fun answer(call: ApplicationCall) = coroutineScope {
        val id = call.request.headers[REQUEST_ID]
        val pieces = Channel<String>(UNITS)
        repeat(UNITS) { launch { pieces.send(piece(it, id)) } }
        // The head goes out with the first piece.
        var piece = next(pieces)
        call.respondBytesWriter(ContentType.Text.Plain) {
            var missing = UNITS
            while (true) {
                writeStringUtf8(piece ?: ".")
                if (piece != null && --missing == 0) break // The end of the body goes out with the last piece.
                flush()
                piece = next(pieces)
            }
        }
    }

    /** The next piece, or null when a tick has passed without one. A time-out around `receive` might lose a piece. */
    @OptIn(ExperimentalCoroutinesApi::class)
    private suspend fun next(pieces: Channel<String>): String? =
        if (kind == "cpu") pieces.receive()
        else select {
            pieces.onReceive { it }
            onTimeout(tickMs) { null }
        }

    private suspend fun piece(unit: Int, id: String?): String =
        when (kind) {
            "io" -> "%03d".format(status(upstreams[unit], id))
            "mixed" -> "%03d:%d\n".format(status(upstreams[unit], id), sum())
            else -> "${sum()}\n"
        }

    /** An upstream's status when all of its answer is there; 400 for any failure. */
    private suspend fun status(upstream: String, id: String?): Int =
        try {
            val response = withTimeoutOrNull(timeoutMs) {
                client.get(upstream) { if (id != null) header(REQUEST_ID, id) }
            }
            response?.status?.value ?: BAD_UPSTREAM
        } catch (_: Exception) {
            coroutineContext.ensureActive()
            BAD_UPSTREAM
        }

    private suspend fun sum(): Long = withContext(Dispatchers.Default) {
        var total = 0L
        for (i in 1 until work) total += i
        total
    }
}
