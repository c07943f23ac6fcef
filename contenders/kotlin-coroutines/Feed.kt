import io.ktor.http.ContentType
import io.ktor.http.HttpStatusCode
import io.ktor.server.response.respond
import io.ktor.server.response.respondBytesWriter
import io.ktor.server.routing.get
import io.ktor.server.routing.route
import io.ktor.utils.io.ByteWriteChannel
import io.ktor.utils.io.writeStringUtf8
import kotlin.time.Duration.Companion.nanoseconds
import kotlinx.coroutines.delay

private const val LONGEST_ID = 20

/** The feed on Ktor's engine CIO: a coroutine for each response. */
fun main(arguments: Array<String>) {
    val settings = Settings(arguments)
    settings.cores()
    val intervalNs = settings.wholeNumber("interval_ms", 1L..3_600_000, 1000) * 1_000_000
    serve(settings) {
        route("/test/{id}") {
            get {
                val id = call.parameters["id"].orEmpty()
                if (id.length in 1..LONGEST_ID && id.all { it in '0'..'9' }) {
                    call.respondBytesWriter(ContentType.Text.Plain) { feed(id, intervalNs) }
                } else {
                    call.respond(HttpStatusCode.NotFound)
                }
            }
            handle { call.respond(HttpStatusCode.MethodNotAllowed) }
        }
    }
}

/** Writes until a write fails, because the client has gone. */
private suspend fun ByteWriteChannel.feed(id: String, intervalNs: Long) {
    writeStringUtf8("Welcome: $id\n")
    flush()
    var dueNs = System.nanoTime()
    var k = 1L
    while (true) {
        dueNs += intervalNs
        delay((dueNs - System.nanoTime()).nanoseconds)
        writeStringUtf8("Chunk $k for $id\n")
        flush()
        k++
    }
}
