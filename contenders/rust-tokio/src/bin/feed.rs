//! The feed on axum: a stream for each response.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::Router;
use futures_util::stream;
use rust_tokio::run;
use rust_tokio::service::listen;
use rust_tokio::settings::Given;
use tokio::time::{sleep_until, Instant};

const LONGEST: usize = 20;

fn main() {
    let given = Given::read();
    let (host, port) = (given.host(), given.port());
    let interval = Duration::from_millis(given.whole_number_or("interval_ms", 1, 3_600_000, 1000));
    run(given.cores(), async move {
        let app = Router::new()
            .route("/test/{id}", get(feed).head(not_allowed))
            .with_state(interval);
        let listener = listen(host, port).tap_io(|client| {
            let _ = client.set_nodelay(true);
        });
        axum::serve(listener, app)
            .await
            .expect("it serves until the program ends");
    });
}

async fn not_allowed() -> impl IntoResponse {
    (StatusCode::METHOD_NOT_ALLOWED, [("Allow", "GET")])
}

async fn feed(Path(id): Path<String>, State(interval): State<Duration>) -> Response {
    if id.is_empty() || id.len() > LONGEST || !id.bytes().all(|byte| byte.is_ascii_digit()) {
        return StatusCode::NOT_FOUND.into_response();
    }
    // hyper asks for the next message when it has room for it: 16 of them, besides the kernel's buffers.
    let messages = stream::unfold((0u32, None), move |(k, begin)| {
        let id = id.clone();
        async move {
            let begin = begin.unwrap_or_else(Instant::now);
            let message = match k {
                0 => format!("Welcome: {id}\n"),
                _ => {
                    sleep_until(begin + k * interval).await;
                    format!("Chunk {k} for {id}\n")
                }
            };
            Some((Ok::<_, Infallible>(message), (k + 1, Some(begin))))
        }
    });
    ([(CONTENT_TYPE, "text/plain")], Body::from_stream(messages)).into_response()
}
