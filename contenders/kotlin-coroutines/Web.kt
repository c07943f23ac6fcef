import io.ktor.server.cio.CIO
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.routing.Routing
import io.ktor.server.routing.routing
import java.io.IOException
import kotlinx.coroutines.runBlocking

/** Ktor's server on its engine CIO, which is written with coroutines. */
fun serve(settings: Settings, routes: Routing.() -> Unit) {
    val (address, wanted) = settings.host() to settings.port()
    val server = embeddedServer(CIO, configure = {
        connector {
            host = address
            port = wanted
        }
    }) { routing(routes) }
    try {
        server.start(wait = false)
    } catch (_: IOException) {
        refusePort(wanted)
    }
    ready(runBlocking { server.engine.resolvedConnectors().single().port })
    Thread.currentThread().join()
}
