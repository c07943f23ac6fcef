//! The gateway: axum's server, hyper's client, a task for each call.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::Router;
use futures_util::{stream, StreamExt};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rust_tokio::run;
use rust_tokio::service::listen;
use rust_tokio::settings::{Given, MOST};
use tokio::task::{spawn_blocking, JoinSet};
use tokio::time::timeout;

const UNITS: usize = 3;
const BAD_UPSTREAM: u16 = 400;

type Upstreams = Client<HttpConnector, Empty<axum::body::Bytes>>;

#[derive(Clone)]
struct Gateway {
    kind: Kind,
    work: u64,
    tick: Duration,
    timeout: Duration,
    client: Upstreams,
}

#[derive(Clone)]
enum Kind {
    Io([Uri; UNITS]),
    Mixed([Uri; UNITS]),
    Cpu,
}

fn main() {
    let given = Given::read();
    let (host, port) = (given.host(), given.port());
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let gateway = Gateway {
        kind: match given.needed("kind", &["io", "cpu", "mixed"]) {
            "io" => Kind::Io(upstreams(&given)),
            "mixed" => Kind::Mixed(upstreams(&given)),
            _ => Kind::Cpu,
        },
        work: given.whole_number_or("work", 1, MOST, 100_000),
        tick: Duration::from_millis(given.whole_number_or("tick_ms", 1, MOST, 50)),
        timeout: Duration::from_millis(given.whole_number_or("timeout_ms", 1, MOST, 5000)),
        client: Client::builder(TokioExecutor::new()).build(connector),
    };
    run(given.cores(), async move {
        let app = Router::new()
            .route("/", get(answer).head(not_allowed))
            .with_state(gateway);
        let listener = listen(host, port).tap_io(|client| {
            let _ = client.set_nodelay(true);
        });
        axum::serve(listener, app)
            .await
            .expect("it serves until the program ends");
    });
}

fn upstreams(given: &Given) -> [Uri; UNITS] {
    let wanted = "three of http://127.0.0.1:PORT/, with commas between them";
    let uris: Vec<Uri> = given
        .text("upstreams")
        .split(',')
        .filter_map(|url| url.parse().ok())
        .collect();
    let usable = |uri: &Uri| {
        uri.scheme_str() == Some("http")
            && uri.host() == Some("127.0.0.1")
            && uri.port_u16() > Some(0)
    };
    match uris.try_into() {
        Ok::<[Uri; UNITS], _>(three) if three.iter().all(usable) => three,
        _ => given.refuse("upstreams", wanted),
    }
}

async fn not_allowed() -> impl IntoResponse {
    (StatusCode::METHOD_NOT_ALLOWED, [("Allow", "GET")])
}

async fn answer(State(gateway): State<Gateway>, request: Request) -> Response {
    let id = request.headers().get("X-Request-Id").cloned();
    let mut units = JoinSet::new();
    let mut tick = Some(gateway.tick);
    match gateway.kind.clone() {
        Kind::Io(uris) => {
            for uri in uris {
                let (gateway, id) = (gateway.clone(), id.clone());
                units.spawn(async move { format!("{:03}", gateway.status(uri, id).await) });
            }
        }
        Kind::Mixed(uris) => {
            for uri in uris {
                let (gateway, id) = (gateway.clone(), id.clone());
                units.spawn(async move {
                    let status = gateway.status(uri, id).await;
                    format!("{status:03}:{}\n", sum(gateway.work))
                });
            }
        }
        Kind::Cpu => {
            tick = None;
            for _ in 0..UNITS {
                units.spawn(async move {
                    let total = spawn_blocking(move || sum(gateway.work)).await;
                    format!("{}\n", total.expect("it does not panic"))
                });
            }
        }
    }
    body(units, tick).await
}

/// The pieces of the units, each as soon as it is ready, and a dot for every tick without one. Dropping the set, when
/// the client has gone, aborts what is in progress.
async fn body(units: JoinSet<String>, tick: Option<Duration>) -> Response {
    let pieces = stream::unfold(units, move |mut units| async move {
        let piece = match tick {
            Some(tick) => timeout(tick, units.join_next())
                .await
                .unwrap_or(Some(Ok(".".to_owned()))),
            None => units.join_next().await,
        };
        piece.map(|piece| (piece.expect("a unit does not panic"), units))
    });
    // The head goes out with the first piece: so it waits for that.
    let mut pieces = Box::pin(pieces.peekable());
    pieces.as_mut().peek().await;
    (
        [(CONTENT_TYPE, "text/plain")],
        Body::from_stream(pieces.map(Ok::<_, Infallible>)),
    )
        .into_response()
}

impl Gateway {
    /// An upstream's status when all of its answer is there; 400 for any failure.
    async fn status(&self, uri: Uri, id: Option<HeaderValue>) -> u16 {
        timeout(self.timeout, self.call(uri, id))
            .await
            .ok()
            .flatten()
            .unwrap_or(BAD_UPSTREAM)
    }

    async fn call(&self, uri: Uri, id: Option<HeaderValue>) -> Option<u16> {
        let mut request = axum::http::Request::new(Empty::new());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = uri;
        if let Some(id) = id {
            request.headers_mut().insert("X-Request-Id", id);
        }
        let mut response = self.client.request(request).await.ok()?;
        while let Some(frame) = response.body_mut().frame().await {
            frame.ok()?;
        }
        Some(response.status().as_u16())
    }
}

/// The sum of 1 … work-1. The compiler must not replace the loop by a formula.
fn sum(work: u64) -> u64 {
    (1..work).fold(0, |total, i| total + black_box(i))
}
