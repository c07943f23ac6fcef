{-# LANGUAGE OverloadedStrings #-}
-- | What both servers of HTTP share.
module Web (serve, refusal, plainText) where

import Network.HTTP.Types
import Network.Wai
import Network.Wai.Handler.Warp

import Service
import Settings (Settings, useCores)

-- | Warp ends a connection on which nothing moves for so long; a feed may be slower than its usual half a minute.
patienceS :: Int
patienceS = 24 * 3600

-- | Serves until SIGTERM or the end of stdin, and prints nothing of clients.
serve :: Settings.Settings -> Application -> IO ()
serve settings application = do
  _ <- useCores settings
  listener <- listenOn settings
  runSettingsSocket (setTimeout patienceS (setOnException (\_ _ -> pure ()) defaultSettings)) listener application

refusal :: Status -> Response
refusal status = responseLBS status ([("Allow", "GET") | status == status405] ++ [("Content-Length", "0")]) ""

plainText :: ResponseHeaders
plainText = [(hContentType, "text/plain")]
