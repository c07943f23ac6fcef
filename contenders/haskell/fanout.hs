{-# LANGUAGE OverloadedStrings #-}
-- | The gateway: Warp's server, http-client, a thread of the runtime for each call.
module Main (main) where

import Control.Concurrent.Async (replicateConcurrently_, mapConcurrently_, withAsync)
import Control.Concurrent.STM
import Control.Exception (SomeException, evaluate, handle)
import Control.Monad (unless)
import Data.ByteString.Builder (Builder, intDec)
import qualified Data.ByteString as B
import Data.Char (isDigit)
import Data.List (stripPrefix)
import qualified Network.HTTP.Client as Client
import Network.HTTP.Types
import Network.Wai
import System.Timeout (timeout)

import Settings
import Web

calls, badUpstream :: Int
calls = 3
badUpstream = 400

data Gateway = Gateway
  { kind :: String, tickUs, timeoutUs, work :: Int, upstreams :: [Client.Request], manager :: Client.Manager }

main :: IO ()
main = do
  settings <- readSettings
  kindName <- needed settings "kind" ["io", "cpu", "mixed"]
  gateway <- Gateway kindName
    <$> ((1000 *) <$> wholeNumberOr settings "tick_ms" (1, most) 50)
    <*> ((1000 *) <$> wholeNumberOr settings "timeout_ms" (1, most) 5000)
    <*> wholeNumberOr settings "work" (1, most) 100000
    <*> (if kindName == "cpu" then pure [] else requests settings)
    <*> Client.newManager Client.defaultManagerSettings { Client.managerResponseTimeout = Client.responseTimeoutNone }
  serve settings (application gateway)

requests :: Settings.Settings -> IO [Client.Request]
requests settings = case mapM request urls of
  Just three | length three == calls -> pure three
  _ -> refuse settings "upstreams" "three of http://127.0.0.1:PORT/, with commas between them"
 where
  urls = commas (text settings "upstreams")
  commas words' = case break (== ',') words' of
    (url, ',' : rest) -> url : commas rest
    (url, _) -> [url]
  request url = do
    port <- takeWhile isDigit <$> stripPrefix "http://127.0.0.1:" url
    if null port || length port > 5 || read port > (65535 :: Int) || read port == (0 :: Int)
      then Nothing
      else (\one -> one { Client.redirectCount = 0 }) <$> Client.parseRequest url

application :: Gateway -> Application
application gateway request respond
  | rawPathInfo request /= "/" = respond (refusal status404)
  | requestMethod request /= methodGet = respond (refusal status405)
  | otherwise = respond (responseStream status200 plainText (fanOut gateway identity))
 where
  identity = lookup "X-Request-Id" (requestHeaders request)

-- | Each piece as soon as it is there, and a dot for every tick without one. The units end with this.
fanOut :: Gateway -> Maybe B.ByteString -> (Builder -> IO ()) -> IO () -> IO ()
fanOut gateway identity write flush = do
  pieces <- newTQueueIO
  withAsync (units (atomically . writeTQueue pieces)) (const (gather pieces calls))
 where
  units put
    | kind gateway == "cpu" = replicateConcurrently_ calls (summed >>= put)
    | otherwise = mapConcurrently_ (\upstream -> piece upstream >>= put) (upstreams gateway)
  piece upstream
    | kind gateway == "io" = intDec <$> status upstream
    | otherwise = (\code total -> intDec code <> ":" <> total) <$> status upstream <*> summed
  status = statusOf gateway identity
  summed = (\total -> intDec total <> "\n") <$> evaluate (total' (work gateway))
  gather _ 0 = pure ()
  gather pieces missing = do
    next <- ticking (atomically (readTQueue pieces))
    let left = maybe missing (const (missing - 1)) next
    write (maybe "." id next)
    -- The last piece goes out with the end of the body.
    unless (left == 0) flush
    gather pieces left
  ticking = if kind gateway == "cpu" then fmap Just else timeout (tickUs gateway)

-- | The status when all of the answer has come; 400 for any failure.
statusOf :: Gateway -> Maybe B.ByteString -> Client.Request -> IO Int
statusOf gateway identity upstream = maybe badUpstream id <$> timeout (timeoutUs gateway) (handle failed call)
 where
  call = statusCode . Client.responseStatus <$> Client.httpLbs request (manager gateway)
  request = upstream { Client.requestHeaders = [("X-Request-Id", one) | Just one <- [identity]] }
  failed :: SomeException -> IO Int
  failed _ = pure badUpstream

-- | The sum of 1 … work-1.
total' :: Int -> Int
total' end = go 1 0
 where
  go i total = if i >= end then total else go (i + 1) (total + i)
