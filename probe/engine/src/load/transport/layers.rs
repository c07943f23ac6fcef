//! What the layers of all connections of a load have in common.

use super::tls::TlsConfig;
use super::websocket::WebSocketPlan;
use crate::load::plan::Plan;
use std::sync::Arc;

/// The layers of a load, which its threads share.
pub struct Layers {
    pub tls: Option<TlsConfig>,
    pub websocket: Option<WebSocketPlan>,
    pub is_http2: bool,
    /// How many slots share a connection.
    pub lanes: usize,
}

impl Layers {
    /// None: the load needs no layer. The error is why it cannot begin.
    pub fn new(plan: &Plan) -> Result<Option<Arc<Layers>>, String> {
        let websocket = WebSocketPlan::new(plan)?;
        let tls = match &plan.tls {
            Some(tls) if plan.http2.is_some() => Some(TlsConfig::new(tls, &[b"h2"])?),
            Some(tls) => Some(TlsConfig::new(tls, &[b"http/1.1"])?),
            None => None,
        };
        let is_http2 = plan.http2.is_some();
        let is_needed = tls.is_some() || websocket.is_some() || is_http2;
        let layers = Layers {
            tls,
            websocket,
            is_http2,
            lanes: plan.lanes(),
        };
        Ok(is_needed.then(|| Arc::new(layers)))
    }
}
