{-# LANGUAGE OverloadedStrings #-}
-- | The feed: Warp's server; the thread of a connection waits until the next chunk is due.
module Main (main) where

import Control.Concurrent (threadDelay)
import Control.Monad
import Data.ByteString.Builder (Builder, byteString, intDec)
import qualified Data.ByteString.Char8 as B
import Data.Char (isDigit)
import Network.HTTP.Types
import Network.Wai

import Settings
import Web

main :: IO ()
main = do
  settings <- readSettings
  intervalMs <- wholeNumberOr settings "interval_ms" (1, 3600000) 1000
  serve settings (application (1000 * intervalMs))

application :: Int -> Application
application intervalUs request respond = case idIn (rawPathInfo request) of
  Nothing -> respond (refusal status404)
  Just _ | requestMethod request /= methodGet -> respond (refusal status405)
  Just name -> respond (responseStream status200 plainText (feed intervalUs name))

-- | The id that a path names.
idIn :: B.ByteString -> Maybe B.ByteString
idIn path = do
  name <- B.stripPrefix "/test/" path
  guard (not (B.null name) && B.length name <= 20 && B.all isDigit name)
  pure name

-- | Messages without an end: a client that goes away is an exception at the next one.
feed :: Int -> B.ByteString -> (Builder -> IO ()) -> IO () -> IO ()
feed intervalUs name write flush = do
  begin <- clock
  write ("Welcome: " <> byteString name <> "\n") >> flush
  forM_ [1 ..] $ \k -> do
    waitUntil (begin + 1000 * fromIntegral (k * intervalUs))
    write ("Chunk " <> intDec k <> " for " <> byteString name <> "\n") >> flush
 where
  waitUntil due = do
    now <- clock
    when (now < due) $ do
      threadDelay (fromIntegral ((due - now + 999) `div` 1000))
      waitUntil due
